// Package script runs the programs that print an inventory: Ansible's inventory
// scripts, which answer --list and --host NAME with JSON.
package script
