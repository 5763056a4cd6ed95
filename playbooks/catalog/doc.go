// Package catalog compiles a play and what is known of a host into the catalog
// that the host is given: every expression resolved, every template rendered,
// every reference an index.
//
// Compilation reads files of the play's own folder and nothing else. What a host
// said is only ever a value.
package catalog
