// Package fromansible carries playbooks and roles of Ansible over into manifests. Nothing is
// guessed and nothing is dropped: what has no counterpart stands in what is written as a
// todo, which no manifest may have when it runs, and in the report, with its file and line.
//
// convert.go begins: it finds plays and roles. task.go reads one task. What its keywords become is the table of
// keywords.go. What has the place of its module, and of each of its arguments, stands in the table of
// playbooks/manifest/ansible; modules.go names the function that carries it over, and its file. Expressions are
// written by package expression, templates by template.go, YAML by package layout; report.go has what was left.
package fromansible
