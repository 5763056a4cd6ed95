// Package expression writes expressions of Jinja as those of manifests: operators in expression.go, filters,
// tests and methods by the tables of filters.go, facts and other names by that of names.go, hostvars in hosts.go. folded.go decides
// comparisons with operating systems that ccm-push cannot manage. needs.go finds the variables that a template needs.
package expression
