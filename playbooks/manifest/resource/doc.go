// Package resource reads the list of resources of a manifest. Every error has a position and a hint about what to write
// instead. Values that depend on the host are checked as far as that is possible for all hosts.
//
// A [Reader] reads the list (list.go) and each resource in it (reader.go). It splits the keys into the properties of
// the type (properties.go) and the keys that every type has (common.go; receive.go for values of other resources). This
// package reads no files: a resource that applies a manifest is passed to the caller.
package resource
