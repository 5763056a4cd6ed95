package gotemplate

import (
	"text/template/parse"

	"github.com/ccm-push/ccm-push/templates/render"
)

// argument notes what an argument reads. It reports whether the argument is a variable or
// the context, or is made of one.
func (w *rewriter) argument(n parse.Node) (indirect bool) {
	switch n := n.(type) {
	case *parse.FieldNode:
		w.rooted = true
		if w.inner > 0 {
			return true
		}
		n.Ident = factKeys(n.Ident)
		w.keys(n.Ident)
	case *parse.DotNode:
		w.rooted = true
		if w.inner > 0 {
			return true
		}
		w.everything()
	case *parse.VariableNode:
		w.rooted = true
		if n.Ident[0] != "$" {
			return true
		}
		n.Ident = append([]string{"$"}, factKeys(n.Ident[1:])...)
		if w.keys(n.Ident[1:]); len(n.Ident) == 1 {
			w.everything()
		}
	case *parse.IdentifierNode: // called without arguments
		w.function(n, 0)
	case *parse.ChainNode:
		return w.argument(n.Node)
	case *parse.PipeNode:
		return w.pipe(n)
	}
	return indirect
}

func (w *rewriter) everything() {
	w.reads.Anything()
	w.flow.Anything()
}

// factKeys returns a path from the root with the keys that facts have here: text/template reads maps itself, and does
// not know the names of fields.
func factKeys(keys []string) []string {
	if len(keys) == 0 || render.RootNamed(keys[0]) != render.FactsRoot {
		return keys
	}
	return append([]string{keys[0]}, render.FactKeys(keys[1:])...)
}

// keys notes a path from the root.
func (w *rewriter) keys(keys []string) {
	w.rooted = true
	if len(keys) > 0 && render.RootNamed(keys[0]) != "" {
		w.reads.Path(render.RootNamed(keys[0]), keys[1:])
		w.flow.Path(render.RootNamed(keys[0]), keys[1:])
	}
}

// keysCommand records a call of a function that takes keys of a map. If the map has a path from the root and the keys
// are literals, the call reads only these keys. It returns the index of the map argument; 0 for any other call.
func (w *rewriter) keysCommand(cmd *parse.CommandNode) (argument int) {
	var path, keys []string
	switch n := len(cmd.Args); {
	case callee(cmd) == "":
	case (callee(cmd) == "get" || callee(cmd) == "hasKey" || callee(cmd) == "index") && n > 2:
		argument, keys = 1, literals(cmd.Args[2:])
	case callee(cmd) == "pluck" && n == 3:
		argument, keys = 2, literals(cmd.Args[1:2])
	case callee(cmd) == "dig" && n > 3:
		argument, keys = n-1, literals(cmd.Args[1:n-2])
	}
	if argument > 0 {
		path = w.rootKeys(cmd.Args[argument])
	}
	if path == nil || len(keys) == 0 {
		return 0
	}
	w.keys(append(path, keys...))
	return argument
}

// keysPiped is keysCommand for a map that is piped into dig.
func (w *rewriter) keysPiped(p *parse.PipeNode, i int) bool {
	if i+1 >= len(p.Cmds) || len(p.Cmds[i].Args) != 1 {
		return false
	}
	next := p.Cmds[i+1]
	path := w.rootKeys(p.Cmds[i].Args[0])
	if callee(next) != "dig" || len(next.Args) < 3 || path == nil {
		return false
	}
	keys := literals(next.Args[1 : len(next.Args)-1])
	if len(keys) > 0 {
		w.keys(append(path, keys...))
	}
	return len(keys) > 0
}

// rootKeys returns the path from the root of a chain of keys; nil if it starts elsewhere.
func (w *rewriter) rootKeys(n parse.Node) []string {
	switch n := n.(type) {
	case *parse.FieldNode:
		if w.inner == 0 {
			return append([]string{}, n.Ident...)
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return append([]string{}, n.Ident[1:]...)
		}
	}
	return nil
}

// literals returns the literal texts at the beginning of arguments.
func literals(args []parse.Node) (list []string) {
	for _, arg := range args {
		s, ok := arg.(*parse.StringNode)
		if !ok {
			break
		}
		list = append(list, s.Text)
	}
	return list
}
