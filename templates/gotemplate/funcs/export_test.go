package funcs

// For the tests outside.
var (
	Arity    = arity
	Argument = argument
	Cloned   = cloned
)

// Invoke calls one of the functions.
func (g *Run) Invoke(name string, args []any) (any, error) {
	return g.invoke(name, All()[name], args)
}
