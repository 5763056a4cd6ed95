// Package keys is what may be written in a manifest beside the properties of types: the
// keys of plays, of manifests and of every resource, with their shapes, bounds and docs.
// Package load and package resource decode into these structs, package schema describes
// them, and the page about manifests is made of their docs.
//
// A key has one place here. Properties of types have theirs in modules, and what values
// mean for a run is not known here.
package keys
