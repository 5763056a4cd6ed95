// Package alternatives is the resource type "alternatives": the program that a common name leads to, such as
// editor or java. It uses update-alternatives of Debian and SUSE, and alternatives of Red Hat.
//
//	alternatives.go  the properties
//	related.go       related resources and examples, for the controller
//	group.go         the alternatives of a name on the host, and the effect of a call of the program
//	check.go         the differences, and the calls that remove them
//	observe.go       undo, watch, describe
package alternatives
