// Package spans says where the values of a YAML text stand in it, in bytes, so that one of
// them can be written anew and all else stays as it is: comments, quotes and line breaks.
package spans
