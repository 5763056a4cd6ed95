// Package ansible maps Ansible's modules and keys to their replacements in manifests. Error hints use the table, and
// playbooks/fromansible converts tasks with it. modules.go defines a module of the table; the modules are in one file
// per subject. This package runs nothing of Ansible.
package ansible
