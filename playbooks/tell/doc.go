// Package tell reports events of watched hosts to other programs on the controller.
//
//	hook.go      Hook: a command that is started for each event, one after the other
//	manager.go   Manager: the service manager that has started this program (sd_notify)
//	listen.go    Listener: clients that request metrics
//
// None of them delays a run, and a failure does not end it: it is a warning.
package tell
