// Package trust adds the keys of unknown hosts to the known_hosts files that runs read. [Enrol] reads the keys
// from the hosts, and compares them with fingerprints that you collected before, or prompts a person.
// [CommandLine] returns the command for it.
//
//	enrol.go         from hosts to the outcome; the prompt
//	rounds.go        jump hosts before the hosts that they lead to; the handshakes
//	fingerprints.go  fingerprints that were collected on the hosts
//	verdict.go       a host, compared with them
//	text.go          the output as text
//	json.go          the output as JSON
//
// Package transport/knownhosts reads and writes known_hosts. Package transport makes the handshakes. Flags and
// exit statuses do not belong here.
package trust
