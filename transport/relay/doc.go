// Package relay makes one host, the relay, copy the host program to hosts near it. So the program crosses the slow link
// once.
//
// [Open] makes the relay create a key, which never leaves it. For [Relay.Certify], the operator's authority certifies
// this key for some minutes, for the addresses of the relay, and for one forced command. This command takes one file by
// its hash ([start.TakeLine]). So an attacker on the relay can only deliver this file. [Relay.Take] sends the file to
// the relay. [Relay.Deliver] makes OpenSSH's client on the relay copy the file to a host. The host must have the same
// host key as for the controller. It accepts the file only by its hash.
//
// The caller chooses the relay of each host.
package relay
