// Package connection reads what an inventory says about reaching a host: the map
// below connect:, Ansible's variables such as ansible_port, and arguments of ssh.
//
// Hosts and groups may not come in: [Resolve] is given the settings of one host. Nor may
// what dials: that is package transport.
package connection
