// Package flight decides how many hosts a run works on at once: as many as this machine can
// do something for without delay, by what it measures meanwhile, so that nobody has to say it.
//
//	window.go   the rule: from one sample to the next
//	meter.go    what is measured
//	memory.go   how much memory there is for it
//	control.go  a queue of hosts under the rule
//
// How a host is reached, and how many logins its sshd takes at once, does not belong here
// (package dial), nor in which order hosts begin (package share).
package flight
