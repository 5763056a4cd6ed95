// Package session is the conversation with one host program: catalogs go out, results
// come in. A host that breaks a bound, or is not heard within the idle timeout, is given
// up.
//
// A [Session] lives from the greeting to the end of the host program, and [Session.Apply]
// carries one catalog through it. What a host says is checked here against what it was
// asked; what becomes of a result is for the caller. How the host was reached and started,
// other hosts, and the events of a run stay out: what hosts share is asked of a
// [share.Semaphores] and a [share.Participant].
//
//	session.go     the conversation from the greeting on: reading, writing, pings
//	apply.go       one catalog: sent, stopped, ended
//	catalogrun.go  what the host says of it: results, held against what was asked
//	contents.go    the contents that the host asks for
//	others.go      what it asks of other hosts, and the time that it waits for them
//	parse.go       YAML that it has read here
//	watched.go       the times of its resources
package session
