// Package modules holds what a resource type is made of and what runs it on a
// host: the [Resource] contract, the [Host] a resource reads and changes, the
// [Message] vocabulary between controller and host, and the [Engine] that takes
// a [Catalog] through check, apply and verify.
//
// A resource type is a folder below this one and a line in modules/builtin. Its
// property struct is the resource: fields carry `json`, `doc` and where they
// apply `enum`, `pattern`, `default` and `required` tags, which decoder, schema,
// ad-hoc flags and documentation all read.
//
// The package is linked into the program that is sent to every host, so it
// imports neither YAML, SSH, templates nor an HTTP client.
package modules
