// Package line is the resource type "line": one line, or a marked block of lines, in a file whose other lines are
// managed elsewhere.
package line
