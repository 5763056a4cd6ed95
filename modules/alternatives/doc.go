// Package alternatives is the resource type "alternatives": which of several programs a common name leads to,
// by update-alternatives of Debian and SUSE, and alternatives of Red Hat.
//
//	alternatives.go  the properties
//	group.go         what the host has of a name, and what a call of the program makes of it
//	check.go         what differs, and what is done about it
//	observe.go       undo, watch, describe
package alternatives
