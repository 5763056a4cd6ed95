// Package inventory knows the fleet: its hosts, their groups, variables and connection settings, and which hosts a
// pattern such as "web*:!canary" selects.
//
// [Load] reads Ansible's inventories: YAML, INI, folders, scripts, and the group_vars and host_vars next to them. It
// reports all errors at once, with their positions. [Inventory.Select] follows Ansible's patterns, names and order
// included; where it differs, Ansible would select other hosts than the pattern names. [pattern.Fold] writes lists of
// names that can be read as a pattern again.
//
// Variables are values and are never evaluated here; [Host.Layers] shows where each was set. A variable of the
// connection (ansible_host and the like) is read into [Connection], like the map that hosts and groups may have under
// the key connect. Only [Connection] has passwords.
//
//	all:
//	  children:
//	    web:
//	      connect: {user: deploy, jump: bastion.example.com}
//	      hosts:
//	        web[01:20]:
//	        web21: {connect: {port: 2222}, rack: 7}
//
// Each package below has one task: source reads files and programs, ansible parses the formats of ansible-core,
// connection reads the settings for reaching a host, pattern knows names and patterns. This package builds hosts and
// groups from them. Code that prints an inventory does not belong here (see package listing), nor does code that
// connects to a host.
package inventory
