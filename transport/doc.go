// Package transport is the connection to one host: it dials, verifies the host
// key, authenticates, goes through jump hosts, escalates, uploads the host
// program and starts it.
//
// A [Dialer] is shared by all hosts of a run. [Dialer.Dial] gives a [Client],
// [Client.StartModule] a [Process] whose standard input and output belong to
// the caller's protocol. The package knows nothing of that protocol but how its
// first line begins.
//
// A host is trusted with nothing here: whatever it sends is bounded in size and
// time, fails that host only, and is escaped where an error quotes it.
package transport
