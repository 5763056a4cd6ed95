// Package hiera has hierarchical data: layers that are laid over each other, of
// which some are chosen by a hierarchy of keys, and what annotations demand of them.
//
// Where the parts come from, which files or flags, may not come in: whoever reads them
// hands them in ([Parts]).
package hiera
