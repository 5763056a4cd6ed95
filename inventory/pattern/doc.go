// Package pattern knows the allowed names of hosts and groups, and the ways to name many of them: patterns such as
// "web*:!canary" ([Selector.Select]), the ranges of Ansible's inventories, web[01:20] ([ExpandRanges]), and the node
// sets of ClusterShell, web[1-3,7],db1 ([Fold] writes them, [NodeSet] reads the text in brackets).
//
// Hosts and groups are only numbers and names here. The package knows nothing else about them and opens no file: the
// inventory reads the file of a term @FILE.
package pattern
