// Package ansible is what to write here in place of Ansible's modules and keys: the hints of errors, and the table by
// which playbooks/fromansible carries tasks over. modules.go says what a module of the table is; they are in the files
// of their subjects. Nothing of Ansible is carried out.
package ansible
