// Package manifest reads site.yaml: plays, and in them CCM manifests whose
// values may be expressions.
//
// Everything that can be known without a host is checked here, for all of a
// file at once: keys, shapes, literal values, the syntax of expressions, and
// references between resources. What is left open is resolved per host by
// package catalog.
//
// Below it, none of which knows what a play is: keys has what may be written, property
// what a type has and what is wrong with it for certain, reference who may refer to
// whom, archive unpacks manifests, and schema describes them.
package manifest
