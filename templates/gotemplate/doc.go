// Package gotemplate has templates of Go's text/template, with the functions of
// package funcs.
//
// No other language may come in: what a Go template calls of others, [render.Languages]
// has. A function stands in package funcs.
package gotemplate
