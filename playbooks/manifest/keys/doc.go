// Package keys is what may be written in a manifest beside the properties of types:
// the keys of plays, of manifests and of every resource, with their shapes, bounds
// and docs. What reads manifests, their JSON Schema and the page about them have
// these from here.
package keys
