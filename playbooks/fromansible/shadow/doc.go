// Package shadow compares a check run of Ansible with a check run of ccm-push on the same hosts.
//
//	callback.py  plugin for ansible-playbook: results as JSON lines
//	task.go      results of Ansible
//	thing.go     what a task or a resource is about
//	compare.go   differences
package shadow
