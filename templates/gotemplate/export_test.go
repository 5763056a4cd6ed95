package gotemplate

import "github.com/ccm-push/ccm-push/templates/render"

// Exports for the external tests.
var (
	AllFunctions = allFunctions
	Arity        = arity
	Argument     = argument
	Cloned       = cloned
)

// A Run is one rendering.
type Run = goRun

// Invoke calls one of the functions.
func (g *goRun) Invoke(name string, args []any) (any, error) {
	return g.invoke(name, allFunctions()[name], args)
}

// ChangesMaps reports whether a template works on copies, for the tests outside.
func ChangesMaps(t *render.Template) bool { return t.Engine.(*engine).changes }
