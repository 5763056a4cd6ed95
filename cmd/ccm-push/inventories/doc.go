// Package inventories reads the inventory of a call, lists its hosts, and completes their names.
//
//	hostcompletion.go  completion of hosts and patterns
//	inventories.go     the inventory and its sources
//	listhosts.go       --list-hosts
package inventories
