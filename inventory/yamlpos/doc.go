// Package yamlpos reads YAML into trees that remember where each value was written, and decodes such trees strictly
// into Go values.
//
// [Parse] turns a file into [Node] trees: aliases and merge keys are resolved, duplicate keys refused, size and depth
// limited. [ParseJSON] makes the same trees from JSON. [Decode] reads a node into a struct by its `json` tags. It
// reports every unknown key, wrong shape and wrong type at once, as [Errors], each with the position and a suggestion.
//
// The package is a leaf: all controller code that reads YAML uses it. Knowledge about the content of a file, an
// inventory or a manifest, does not belong here.
package yamlpos
