// Package connection reads what an inventory says about reaching a host: the map
// below connect:, Ansible's variables such as ansible_port, and arguments of ssh. It
// knows of no hosts and groups: [Resolve] is given what is said of one host.
package connection
