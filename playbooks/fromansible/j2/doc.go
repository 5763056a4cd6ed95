// Package j2 reads Jinja as Ansible writes it: expressions, texts with expressions, and
// whole templates, as trees. Nothing is evaluated. What it does not know is an error that
// says what that is.
//
// Begin at template.go; expressions are read in expression.go, words of both in lex.go.
package j2
