// Package tell tells other programs on the controller what becomes of watched hosts, as reporters
// of events.
//
//	hook.go      Hook: a command that is started for each event, one after the other
//	manager.go   Manager: the service manager that has started this program (sd_notify)
//	listen.go    Listener: whoever asks for metrics
//
// None of them keeps a run waiting, and none that fails ends it: that is a warning.
package tell
