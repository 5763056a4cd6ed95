// Package debconf is the resource type "debconf": answers to the questions that packages of Debian ask when they
// are installed.
//
//	debconf.go   the properties
//	database.go  what the host has of a question
//	check.go     what differs, and what is done about it
//	observe.go   undo, watch, describe
package debconf
