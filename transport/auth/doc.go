// Package auth authenticates the login user: it chooses the keys to offer to a host, from files, certificates and
// agents, and answers prompts for a password.
//
// All hosts of a run share a [Keyring]; it reads each file and each agent once. [Keyring.Credentials] returns the keys
// and the password of a target. [Credentials.Login] makes a [Login], which is one attempt; its methods are the
// callbacks of x/crypto/ssh.
//
// The connection is the task of package dial, and host keys of package knownhosts.
package auth
