// Package replace is the resource type "replace": what an expression matches in a file that somebody
// else looks after, and what stands there instead.
package replace
