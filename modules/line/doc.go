// Package line is the resource type "line": one line, or a marked block of lines,
// in a file that somebody else looks after.
package line
