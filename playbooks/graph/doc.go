// Package graph orders the resources of one host by their dependencies: those in the manifest, and the relations to
// accounts, paths and packages that the resources themselves declare ([modules.Related]).
//
// [New] makes a [Graph] of vertices and edges; [Depend] and [Rearrange] write it into the entries of a catalog; a
// [Drawing] prints it as text, or for Graphviz. The caller resolves references: this package does not know manifests.
package graph
