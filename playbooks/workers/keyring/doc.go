// Package keyring holds the keys by which coordinators, workers and operators recognize each other, and signs and verifies their messages.
//
//	keys.go      keys of this machine, lists of keys, and signatures
//	keyentry.go  lines of a list, and the limits of a worker in its line
//	keyfile.go   lists that are read again when their file changes
package keyring
