// Package exec is the resource type "exec": a command that runs unless it has
// nothing to do.
package exec
