// Package jettemplate has Jet templates (github.com/CloudyKit/jet).
//
// A function is a name in functionNames and a case in callFunction (functions.go).
//
// No other language may come in: what Jet calls of others, [render.Languages] has.
package jettemplate
