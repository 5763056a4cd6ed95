// Package reference is how resources of a play refer to each other, as far as that is
// known before any host is: type#name for a resource, type#name.key for a value of
// one.
//
// An [Index] finds the resources of a play, and of the manifests that they apply, by
// what is known of their names, and checks every literal reference: that somebody is
// called so, that the order allows it, and that nobody waits for himself. What
// depends on the host is left to the compilation per host.
package reference
