// Package relay has one host, the relay, copy the host program to hosts near it, so that the program crosses the slow
// link once.
//
// [Open] has the relay create a key, which never leaves it. For [Relay.Certify], the operator's authority certifies
// that key for some minutes, for the addresses of the relay, and for one forced command, which takes one file by its
// hash ([start.TakeLine]). So the relay can deliver, and an attacker on it can do no more. [Relay.Take] sends the file
// to the relay. [Relay.Deliver] has OpenSSH's client on the relay copy the file to a host, which must have the host key
// that it has proven to own to the controller. The host accepts the file for its hash alone.
//
// The caller chooses the relay of each host.
package relay
