// Package semaphore holds the counting semaphores that hosts share during a run. They are
// granted in the order in which they are requested, and no two turns ever wait for each
// other.
//
// It knows names and numbers. Hosts, resources and messages stay out.
package semaphore
