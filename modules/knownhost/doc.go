// Package knownhost is the resource type "known_host": the public keys by which a host is known to
// the SSH clients of another one.
package knownhost
