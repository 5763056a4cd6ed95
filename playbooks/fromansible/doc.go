// Package fromansible carries playbooks and roles of Ansible over into manifests. Nothing is
// guessed and nothing is dropped: what has no counterpart stands in what is written as a
// todo, which no manifest may have when it runs, and in the report, with its file and line.
//
// convert.go begins: it finds playbooks and roles. plays.go carries over a play, units.go a role, tasks.go the tasks of
// a file, with what they include (includes.go) and notify (handlers.go). All is converted twice where what the first time
// has written says what may be asked before the run (certain.go), and what is carried out without what (together.go). The
// rest is below:
//
//	module      what becomes of a task, by its module: one function for each, and one line in a table
//	task        what a task says, its loop and keywords, and what modules write with
//	role        what a role or a play has: variables, files, what its tasks register and set
//	expression  expressions of Jinja as expressions of manifests; j2 reads them
//	layout      entries as YAML that a person would write; yamlnode: nodes of YAML
//	output      the files that are written, and the report
//
// Which modules there are, what has the place of each, and of each of its arguments, stands in
// playbooks/manifest/ansible, which errors and docs/guide/from-ansible.md are made by too.
package fromansible
