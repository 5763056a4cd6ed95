// Package yamlpos reads YAML into trees that remember where each value was
// written, and decodes such trees strictly into Go values.
//
// [Parse] turns a file into [Node] trees: aliases and merge keys are resolved,
// duplicate keys refused, size and depth bounded. [ParseJSON] makes the same trees of
// JSON. [Decode] reads a node into a
// struct by its `json` tags. It reports every unknown key, wrong shape and wrong
// type at once, as [Errors], each with the position and what to write instead.
//
// The package is a leaf: everything on the controller that reads YAML uses it. What a
// file is about, an inventory or a manifest, may not come in.
package yamlpos
