// Package ansible is what to write here in place of Ansible's modules and keys: the hints
// of errors. Nothing of Ansible is carried out.
package ansible
