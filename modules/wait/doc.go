// Package wait is the resource type "wait": a condition that must be met before the play continues, and that is met
// without its help, such as a port that accepts connections.
package wait
