// Package queue works on many hosts, so many at once, and lets one that others wait for
// begin out of turn.
//
// It knows the names of hosts and a function. What is done with a host stays out.
package queue
