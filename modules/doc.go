// Package modules holds the parts of a resource type: the [Resource] contract, the [Plan] that a type makes, the [Host]
// that it reads and changes, and optional methods of a type. Package engine runs resources on a host, and package wire
// has the messages between controller and host; both are below this one.
//
// Read resource.go, host.go and registry.go first; a simple type needs nothing else. Optional methods are in
// optional.go (refresh, verify, preload, batch), event.go (refreshonly), prepare.go (the controller's work for a type), values.go (exports,
// states, queries), reverse.go, describe.go and relation.go. Types share errors.go, validate.go, path.go, merged.go
// (the folders whose files a host merges), trust.go (files that other users could have planted) and tree.go.
//
// A resource type is a folder below this one and a line in modules/builtin. Its property struct is the resource.
// Decoder, schema, ad-hoc arguments and documentation read the tags of its fields:
//
//	json      the name
//	also      other spellings that manifests may use, with commas
//	doc       the meaning
//	required  "true": the property is mandatory
//	enum      the only values, with commas
//	pattern   a regular expression for text
//	default   the value of a missing property
//	looks     a regular expression for the schema alone, where Validate has better words
//	file      "play" or "tree": it names a file or folder of the play, so no fact may be part of it
//	text      "argument": a word for programs and files, see [ValidateArgument]
//	with      another property, without which this one has no meaning
//	secret    "true": it is kept out of render; "url": a secret may be in that URL
//	wire      "only": Prepare sets it, and no manifest can
//	event     "no": an event (refreshonly) cannot have it; "only": only events and ad-hoc calls can
//	adhoc     it is for ad-hoc calls alone; the text to write in a manifest instead
//	numbers   "refuse": the number of an expression is not a text here
//
// The package is linked into the program that is sent to every host, so it imports neither YAML, SSH, templates nor an
// HTTP client.
package modules
