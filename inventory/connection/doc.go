// Package connection reads an inventory's settings for reaching a host: the map connect:, Ansible's variables such as
// ansible_port, and arguments of ssh.
//
// Hosts and groups do not belong here: [Resolve] receives the settings of one host. Code that dials does not belong
// here either: see package transport.
package connection
