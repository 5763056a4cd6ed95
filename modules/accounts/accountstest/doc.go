// Package accountstest runs tests that change users and groups, in a process
// with accounts of its own. It works on Linux.
package accountstest
