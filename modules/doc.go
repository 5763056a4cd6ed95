// Package modules holds what a resource type is made of: the [Resource] contract, the
// [Plan] that a type makes, the [Host] that it reads and changes, and further methods that
// a type may have. What runs resources on a host is package engine, what controller and
// host say to each other package wire, both below this one.
//
// Read resource.go, host.go and registry.go first; they are all that a simple type needs.
// A type does more by having one of the methods in optional.go (refresh, verify, preload,
// batch), prepare.go (what the controller does for it), values.go (exports, states,
// queries), reverse.go, describe.go or relation.go. What types share is in errors.go,
// validate.go, path.go, merged.go (the folders whose files a host merges), trust.go (what others could
// have planted) and tree.go.
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
//	looks     a regular expression for the schema alone, where Validate has better words
//	file      "play" or "tree": it names a file or folder of the play, so no fact may be part of it
//	secret    "true": it is kept out of render; "url": a secret may be in that URL
//	wire      "only": Prepare sets it and nobody writes it
//	adhoc     it is for ad-hoc calls alone; the text says what to write in a manifest
//	numbers   "refuse": a number that an expression gives is no text here
//
// The package is linked into the program that is sent to every host, so it
// imports neither YAML, SSH, templates nor an HTTP client.
package modules
