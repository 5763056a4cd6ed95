// Package trust makes unknown hosts known: it asks them for their keys, compares these
// with fingerprints that somebody has collected or has a person decide, and adds them to
// the known_hosts files that runs read ([Enrol]). [CommandLine] is how a user starts that.
//
// Reading and writing known_hosts is in transport/knownhosts, the handshakes are in
// transport. Flags and exit statuses may not come in.
package trust
