// Package gotemplate has templates of Go's text/template, with functions of which most
// are Sprig's (github.com/Masterminds/sprig), bounded.
//
// A function is one line in one of the tables that allFunctions puts together
// (functions.go): its name, the kinds of its arguments, and what it does. Parser, checks
// of arguments, bounds, hints and the hostile tests take it from there.
//
// No other language may come in: what a Go template calls of others, [render.Languages]
// has. Nor may what is random or reads the network: [diag.RefusedFunction] has the reason.
package gotemplate
