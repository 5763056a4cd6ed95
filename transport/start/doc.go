// Package start runs the host program on a host that has been dialled: a shell script
// finds it in the cache of the host or takes it in, as the login user or as whom that
// one may become (sudo, su, doas).
//
// [Program] gives a [Process] whose standard input and output belong to the caller's
// protocol. The package knows nothing of that protocol but how its first line begins.
// [Traces] finds, and removes, what was ever left on a host.
//
// What concerns the connection itself does not belong here: that is of package
// transport, and package dial opens it.
package start
