// Package transport is what its parts share: where a host is and how to get in
// ([Target]), the connection to it ([Client], [Command]), and what went wrong on the
// way ([HostError] and the errors that it wraps).
//
// The parts are packages below it. sshconfig says what ssh_config(5) comes to for a
// host, knownhosts holds keys of hosts against known_hosts files, auth logs in, dial
// gives a Client by means of these, and start runs the host program on it. sshtest is a
// server for the tests of all.
//
// What only one of the parts needs does not belong here, and nothing does that knows of
// playbooks or of what the host program says.
//
// A host is trusted with nothing: whatever it sends is bounded in size and time, fails
// that host only, and is escaped where an error quotes it.
package transport
