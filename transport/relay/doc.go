// Package relay has one host, the relay, hand the host program on to hosts near it, so that it goes
// over the way to all of them once.
//
// [Open] has the relay make a key, which never leaves it. The authority of the operator certifies that
// key for [Relay.Certify]: for minutes, from the addresses of the relay, and for one forced command,
// which takes one file by its hash ([start.TakeLine]). So the relay can deliver, and whoever breaks into it can do
// no more. [Relay.Take] gives the relay the file, and [Relay.Deliver] has OpenSSH's client on it bring the file to a
// host, which is held to the key that it has proven to own here. What arrives is believed for its hash alone.
//
// Who is a relay for whom does not belong here.
package relay
