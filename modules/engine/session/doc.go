// Package session serves the catalogs of one controller on a host, one after the other.
//
//	session.go   from hello to the end: a catalog comes in, results go out together
//	receiver.go  what the controller sends, whenever it does
//	asked.go     what the controller is asked for, and its answers
//	watching.go  catalogs that are kept under watch, and what becomes of them
//	watchdog.go  what nobody confirms is taken back, by a process of its own
//	kept.go      results that no controller has acknowledged
//	outbox.go    results on their way to the controller
//	follower.go  the output of commands on its way to the controller, while they run
//	spool.go     contents on their way to the host
//	partial.go   what has come of a large one, for a later session
//
// How a catalog is worked on is package engine, which knows nothing of connections. What
// takes the lock and where notes are kept is handed in.
package session
