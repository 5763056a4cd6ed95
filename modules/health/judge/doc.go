// Package judge compares a host with rules of goss. It belongs to the full host program: the lean one has no HTTP
// client.
package judge
