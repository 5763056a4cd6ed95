// Package fromansible carries playbooks and roles of Ansible over into manifests. Nothing is
// guessed and nothing is dropped: what has no counterpart stands in what is written as a
// todo, which no manifest may have when it runs, and in the report, with its file and line.
//
// convert.go begins: it finds plays and roles. task.go reads one task; what its keywords
// become is the table of keywords.go, what its module becomes that of modules.go, with the
// types in their files (files.go, accounts.go, …). expression.go and filters.go write
// expressions, template.go whole templates. layout.go writes YAML, report.go what was left.
package fromansible
