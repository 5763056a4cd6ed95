// Package house holds the tests of how the project is built: how large its types, packages and functions may be, which
// package may import which, and what documentation of packages must name. limits.txt lists the
// offenders and may only get shorter:
//
//	go test ./e2e/house -update
//
//	source.go  the sources of the project, parsed once
//	limits.go  the list of offenders
package house
