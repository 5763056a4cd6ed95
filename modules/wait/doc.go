// Package wait is the resource type "wait": something that has to be so before the play goes on,
// and comes about by itself, such as a port that takes connections.
package wait
