// Package spans finds the positions of the values in a YAML text, in bytes, so that one of them can be replaced and
// everything else stays the same: comments, quotes and line breaks.
package spans
