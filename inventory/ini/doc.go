// Package ini reads the lines of Ansible's INI inventories. What they come to
// together (which groups there are, and who is in them) is not its business.
package ini
