// Package knownhosts reads and writes known_hosts files (sshd(8), SSH_KNOWN_HOSTS
// FILE FORMAT) and holds the keys of hosts against them.
//
// The lines are read here and not by x/crypto/ssh/knownhosts because that refuses a
// whole file for one line it cannot read, takes the key of a @cert-authority for the
// host's own, and does not say which key types a host has.
package knownhosts
