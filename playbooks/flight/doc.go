// Package flight decides how many hosts a run processes at once: as many as this machine can serve without delay, by
// its measurements during the run, so that the user need not set a number.
//
//	window.go   the rule: from one sample to the next
//	meter.go    the measurements
//	memory.go   the available memory
//	control.go  a queue of hosts under the rule
//
// Package dial connects to hosts and limits the logins at one sshd. Package share orders the hosts.
package flight
