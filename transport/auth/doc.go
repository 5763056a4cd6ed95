// Package auth is how a host is told who logs in: which keys there are to ask it about,
// from files, certificates and agents, and what is answered to a prompt for a password.
//
// A [Keyring] is shared by all hosts of a run; it reads each file, and asks each agent,
// once. [Keyring.Credentials] are what a target can log in with, and
// [Credentials.Login] is one attempt to do so, whose methods are the callbacks of
// x/crypto/ssh.
//
// The connection on which this happens does not belong here, nor do the keys of hosts:
// those are of packages dial and knownhosts.
package auth
