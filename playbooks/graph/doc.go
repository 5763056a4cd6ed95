// Package graph orders the resources of one host by what they depend on: by what
// the manifest says, and by what the resources themselves declare of the accounts,
// paths and packages that they have to do with ([modules.Related]).
//
// [New] makes a [Graph] of vertices and edges; [Depend] and [Rearrange] write it into the
// entries of a catalog; a [Drawing] prints it as text, or for Graphviz. References
// are resolved by those who have them: what a manifest is stays out.
package graph
