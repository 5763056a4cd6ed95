// Package trust makes unknown hosts known: it asks them for their keys, compares these
// with fingerprints that were collected beforehand or has a person decide, and adds them to
// the known_hosts files that runs read ([Enrol]). [CommandLine] is how a user starts that.
//
//	enrol.go         from hosts to what has become of them; who is asked
//	rounds.go        jump hosts before the hosts that are behind them; the handshakes
//	fingerprints.go  what was collected on the hosts; verdict.go: a host held against it
//	text.go, json.go what is printed
//
// Reading and writing known_hosts is in transport/knownhosts, the handshakes are in
// transport. Flags and exit statuses may not come in.
package trust
