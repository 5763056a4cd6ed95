// Package transport holds what its parts share: the place of a host and the login to it ([Target]), the connection to
// it ([Client], [Command]), and failures ([HostError] and the errors that it wraps).
//
// The parts are packages below it. sshconfig resolves ssh_config(5) for a host, knownhosts compares keys of hosts with
// known_hosts files, auth logs in, dial opens a Client with these, and start runs the host program on it. sshtest is a
// server for the tests of all parts.
//
// Code that only one part needs lives in that part. Nothing here knows of playbooks or of the host program's protocol.
//
// A host is not trusted: its data are limited in size and time, an invalid answer fails only this host, and errors
// escape quoted data.
package transport
