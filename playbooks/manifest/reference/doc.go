// Package reference is how resources of a play refer to each other, as far as that is
// known before any host is: type#name for a resource, type#name.key for a value of
// one.
//
// An [Index] finds the resources of a play, and of the manifests that they apply, by
// what is known of their names, and checks every literal reference: that there is such a
// resource, that the order allows it, and that no resource waits for itself. References
// that depend on the host are checked when a host is compiled for. Plays do not come in
// here: a [Resource] is what references need to know of one.
package reference
