// Package replace is the resource type "replace": text that matches an expression in a file, and its replacement. The
// rest of the file is managed elsewhere.
package replace
