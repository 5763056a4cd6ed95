// Package j2 reads Jinja in playbooks as Ansible does: expressions, and texts with expressions, as trees. It evaluates
// nothing. Templates stay as they are.
//
// Begin at template.go; expressions are read in expression.go, words of both in lex.go.
package j2
