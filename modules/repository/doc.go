// Package repository is the resource type "repository": where a package manager has packages from, and
// whose signatures it takes.
//
//	repository.go  the properties
//	definition.go  what stands in the file of the manager: a stanza of apt, a section of dnf and zypper
//	key.go         the public key beside it
//	check.go       what differs, and what is done about it
//	observe.go     undo, watch, describe
package repository
