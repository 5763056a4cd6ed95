// Package start runs the host program on a connected host, as the login user or as the user of an escalation (sudo, su,
// doas). A shell script finds the program in the cache of the host, or installs it.
//
// [Program] returns a [Process] whose standard input and output belong to the caller's protocol. The package knows only
// the begin of the first line of that protocol. [FootprintOf] finds and removes the files that runs have left on a
// host.
//
// The connection itself is the task of package transport, and package dial opens it.
package start
