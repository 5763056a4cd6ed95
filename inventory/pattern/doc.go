// Package pattern finds the hosts that patterns such as "web*:!canary" mean, as
// Ansible has them. Hosts and groups are numbers here; what they are besides their
// names is not its business.
package pattern
