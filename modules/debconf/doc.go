// Package debconf is the resource type "debconf": answers to the questions of Debian packages at their
// installation.
//
//	debconf.go   the properties
//	related.go   related resources and examples, for the controller
//	database.go  a question and its answer in the files of debconf
//	check.go     the differences, and the calls that remove them
//	observe.go   undo, watch, describe
package debconf
