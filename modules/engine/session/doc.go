// Package session serves the catalogs of one controller on a host, one after the other.
//
//	session.go   from hello to the end: receives a catalog, runs it, sends its results
//	receiver.go  reads messages of the controller at any time
//	asked.go     questions to the controller, and its answers
//	confirm.go   changes that the controller must confirm: their deadline and their state
//	watchdog.go  the process that reverts unconfirmed changes
//	watching.go  results of watched catalogs
//	kept.go      results that no controller has acknowledged
//	outbox.go    sends results that are ready at the same time together
//	follower.go  sends the output of commands while they run
//	spool.go     receives contents
//	partial.go   keeps the received part of a large content for a later session
//
// Package engine runs a catalog, and knows no connections. The caller passes in the lock of the host and the place
// for notes.
package session
