// Package reference checks how resources of a play refer to each other, as far as that is known before any host is:
// type#name for a resource, type#name.key for a value of one.
//
// An [Index] finds the resources of a play, and of the manifests that they apply, by the known parts of their names. It
// checks every literal reference: the resource exists, the order allows the reference, and no resource waits for
// itself. References that depend on the host are checked when a host is compiled. This package knows no plays: a
// [Resource] has the data that references need.
package reference
