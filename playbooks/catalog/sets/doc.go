// Package sets has the values that the resources of type set give to the data of one host while its play is compiled.
//
//	values.go   the values, and the entries that decide whether they count
//	view.go     the data of a manifest or block with these values
//
// The values belong to the host: a manifest that is applied later sees them, and so does the manifest that applies the
// manifest with the set. Package catalog finds the sets and evaluates the values.
package sets
