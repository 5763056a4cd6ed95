// Package session is the conversation with one host program: catalogs go out, results
// come in. A host that breaks a bound, or is not heard within the idle timeout, is given
// up.
//
// A [Session] lives from the greeting to the end of the host program, and [Session.Apply]
// carries one catalog through it. What a host says is checked here against what it was
// asked; what becomes of a result is for the caller. How the host was reached and started,
// other hosts, and the events of a run stay out: what hosts share is asked of a
// [share.Semaphores] and a [share.Participant].
package session
