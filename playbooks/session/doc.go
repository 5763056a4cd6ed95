// Package session is the conversation with one host program: it sends catalogs and receives results. If a host
// exceeds a limit, or sends nothing within the idle timeout, the session ends.
//
// A [Session] lives from the greeting to the end of the host program. [Session.Apply] sends one catalog and
// receives its results. It checks each result against the request and passes it to the caller. The connection to
// the host, other hosts, and the events of a run do not belong here: a [share.Semaphores] and a
// [share.Participant] handle values between hosts.
//
//	session.go     the conversation after the greeting: reading, writing, pings
//	errors.go      the errors that end it
//	apply.go       one catalog: sent, stopped, ended
//	catalogrun.go  messages of the host about it: results, checked against the catalog
//	contents.go    contents that the host requests
//	fetch.go       files that the host sends
//	confirm.go     changes that a new login must confirm
//	others.go      values from other hosts and semaphores, and the time that the host waits for them
//	parse.go       YAML that the controller parses for the host
//	late.go        time limits of resources and of the whole host
//	watched.go     messages about watched catalogs
package session
