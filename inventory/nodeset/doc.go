// Package nodeset knows the short ways to write many names of hosts: the ranges of
// Ansible's inventories, web[01:20], and the node sets of ClusterShell,
// web[1-3,7],db1. [Fold] writes them and [Expand] reads them. It knows of no
// inventory.
package nodeset
