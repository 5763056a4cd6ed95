// Package inventory knows the fleet: which hosts there are, the groups they are
// in, their variables and how to connect to them, and which of them a pattern
// such as "web*:!canary" means.
//
// [Load] reads Ansible's inventories: YAML, INI, folders, scripts, and group_vars
// and host_vars beside them. Everything that is wrong with them is reported at
// once, with its position. [Inventory.Select] follows Ansible's patterns, names and
// order included; where it differs, Ansible would have taken other machines than
// the pattern says. [pattern.Fold] writes lists of names so that a pattern can be
// made of them again.
//
// Variables are values and are never evaluated here; [Host.Layers] tells where each
// was set. A variable that concerns the connection (ansible_host and the like) is
// read into [Connection], as is the map that hosts and groups may have under the
// key connect. [Connection] is also the only place of passwords.
//
//	all:
//	  children:
//	    web:
//	      connect: {user: deploy, jump: bastion.example.com}
//	      hosts:
//	        web[01:20]:
//	        web21: {connect: {port: 2222}, rack: 7}
//
// Each package below knows one part: source what is read and from where, ansible the
// texts of ansible-core, connection how a host is reached, pattern names and patterns.
// This one builds hosts and groups of them. How an inventory is shown may not come in,
// since package listing does that, nor may anything that connects to a host.
package inventory
