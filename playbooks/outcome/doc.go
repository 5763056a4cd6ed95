// Package outcome makes events of what a host reports about its catalog: of each result,
// of the messages of nested manifests, and of what was not reached.
//
// What a host said has been checked by the session. Connections and printing stay out.
package outcome
