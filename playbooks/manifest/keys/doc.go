// Package keys defines the keys of a manifest other than the properties of types: the keys of plays, of manifests and
// of every resource, with their shapes, bounds and docs. Package load and package resource decode into these structs,
// package schema describes them, and the page about manifests is generated from their docs.
//
// Each key is defined here once. Properties of types are defined in modules. This package does not know what values
// mean for a run.
package keys
