// Package modules holds what a resource type is made of: the [Resource] contract, the
// [Plan] that a type makes, the [Host] that it reads and changes, and further methods that
// a type may have. What runs resources on a host is package engine, what controller and
// host say to each other package wire, both below this one.
//
// A resource type is a folder below this one and a line in modules/builtin. Its
// property struct is the resource. The tags of its fields are read by decoder,
// schema, ad-hoc arguments and documentation alike:
//
//	json      the name
//	also      other spellings that manifests may use, with commas
//	doc       what it means
//	required  "true": it must be given
//	enum      the only values, with commas
//	pattern   a regular expression for text
//	default   the value if none is given
//	file      "play": it names a file of the play, so no fact may be part of it
//	numbers   "refuse": a number that an expression gives is no text here
//
// The package is linked into the program that is sent to every host, so it
// imports neither YAML, SSH, templates nor an HTTP client.
package modules
