// Package brings predicts what the installation of pending packages changes on a host, from the packages themselves.
//
//	look.go         gets and reads the control data of packages, and the begin of their files
//	fetch.go        gets the begin of a package file
//	request.go      one request to a server
//	secure_full.go  TLS, in the full host program only
//	secure_lean.go  no TLS
//	cache.go        the folder that keeps it
//	resume.go       what apt downloads continues there
//	aptsettings.go  how apt would get it
//	archive.go      the formats ar and tar
//	control.go      lists of files, and scripts
//	rpm.go          the same of packages of rpm, and how units are preset
//	dnfsettings.go  how dnf would get them
//	script.go       simple commands of a shell script
//	touches.go      what these commands may change
//	effects.go      the effects of all packages together
//
// Every limit is a constant next to its use. Only the host that has fetched a package uses its data.
package brings
