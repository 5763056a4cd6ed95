// Package pattern knows what hosts and groups may be called, and the ways to name
// many of them: patterns such as "web*:!canary" ([Selector.Select]), the ranges of
// Ansible's inventories, web[01:20] ([ExpandRanges]), and the node sets of
// ClusterShell, web[1-3,7],db1 ([Fold] writes them, [NodeSet] reads what is in brackets).
//
// Hosts and groups are numbers and names here. Nothing else about them may come in, and
// no file is opened: the inventory reads the file of a term @FILE.
package pattern
