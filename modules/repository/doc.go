// Package repository is the resource type "repository": package repositories of apt, dnf and zypper, and their
// public keys.
//
//	repository.go  the properties
//	related.go     related resources and examples, for the controller
//	definition.go  the definition in a file: a stanza of apt, a section of dnf and zypper
//	siblings.go    other files that define the same repository
//	key.go         the public key
//	check.go       the differences, and the steps that remove them
//	observe.go     undo, watch, describe
package repository
