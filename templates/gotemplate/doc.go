// Package gotemplate implements templates in Go's text/template, with limits. Most of its functions are Sprig's
// (github.com/Masterminds/sprig).
//
// A function is one line in one of the tables that allFunctions joins (functions.go): its name, the kinds of its
// arguments, and its implementation. Parser, checks of arguments, limits, hints and the hostile tests use these tables.
//
// Other languages do not belong here: a Go template calls them by [render.Languages]. Functions that are random or read
// the network do not belong here either: [diag.RefusedFunction] has the reason.
package gotemplate
