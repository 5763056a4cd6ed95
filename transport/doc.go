// Package transport is the connection to one host: it dials, verifies the host
// key, authenticates and goes through jump hosts.
//
// A [Dialer] is shared by all hosts of a run. [Dialer.Dial] gives a [Client], on which
// package start runs the host program.
//
// A host is trusted with nothing here: whatever it sends is bounded in size and
// time, fails that host only, and is escaped where an error quotes it.
package transport
