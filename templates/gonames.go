package templates

import (
	"reflect"
	"slices"
	"strconv"
	"text/template/parse"
)

// goBuiltins are the functions of text/template itself that are left as they
// are, with their parameters.
func goBuiltins() map[string]string {
	return map[string]string{
		"and": "aa*", "or": "aa*", "not": "a", "index": "aa*", "len": "a", "call": "aa*",
		"eq": "aaa*", "ne": "aa", "lt": "aa", "le": "aa", "gt": "aa", "ge": "aa", "jet": "s*",
	}
}

// scaffoldParams are the parameters of the functions of a scaffold.
var scaffoldParams = map[string]string{"render": "sa", "write": "ss"}

// goFunctionNames are the functions that can be written in a Go template.
func goFunctionNames() []string {
	names := append(sortedKeys(goFunctions()), sortedKeys(goBuiltins())...)
	return slices.DeleteFunc(names, func(name string) bool { return name[0] == '_' })
}

// callee checks the function that a command calls.
func (w *goRewriter) callee(cmd *parse.CommandNode, piped bool) {
	id, ok := cmd.Args[0].(*parse.IdentifierNode)
	if !ok {
		return
	}
	n := len(cmd.Args) - 1
	if piped {
		n++
	}
	w.function(id, n)
}

// function notes a call with n arguments, and checks that the function exists
// and takes so many.
func (w *goRewriter) function(id *parse.IdentifierNode, n int) {
	name := id.Ident
	params, known := goBuiltins()[name]
	if fn, ok := goFunctions()[name]; ok && name[0] != '_' {
		params, known = fn.params, true
		w.template.used = append(w.template.used, name)
		w.template.changes = w.template.changes || changesMaps(name)
	}
	if own := scaffoldParams[name]; own != "" && w.template.scaffold != nil {
		params, known = own, true
	}
	f := leftOut(name)
	switch {
	case known:
		f = wrongCount(name, params, n)
	case f == nil:
		f = noSuchFunction(name, goFunctionNames(), func(words foreignWords) string { return words.golang })
	}
	if f != nil {
		w.fail(id.Pos, f)
	}
}

// goDefaults reports whether a function has an answer to a value that is not
// there.
func goDefaults(name string) bool {
	return name == "default" || name == "coalesce" || name == "empty" || name == "or"
}

// defaults lets the keys be missing that a default follows in a pipe.
func (w *goRewriter) defaults(p *parse.PipeNode) {
	for i, cmd := range p.Cmds {
		name := goCallee(cmd)
		next := ""
		if i+1 < len(p.Cmds) {
			next = goCallee(p.Cmds[i+1])
		}
		switch {
		case goDefaults(next) && name == "" && len(cmd.Args) == 1:
			if maybe := w.maybe(cmd.Args[0]); maybe != nil {
				cmd.Args = maybe.Args
			}
		case goDefaults(name):
			w.maybeArguments(cmd, i > 0, goDefaults(next))
		}
	}
}

// maybeArguments lets the arguments of a defaulting function be missing, but for
// the last resort: the default itself, and the last choice of or.
func (w *goRewriter) maybeArguments(cmd *parse.CommandNode, piped, defaulted bool) {
	for i, arg := range cmd.Args[1:] {
		last := cmd.Args[0].(*parse.IdentifierNode).Ident
		resort := last == "default" && i == 0 || last == "or" && !piped && i == len(cmd.Args)-2
		if resort && !defaulted {
			continue
		}
		if maybe := w.maybe(arg); maybe != nil {
			cmd.Args[i+1] = &parse.PipeNode{NodeType: parse.NodePipe, Pos: arg.Position(), Cmds: []*parse.CommandNode{maybe}}
		}
	}
}

// maybe is a call of goMaybe in place of a chain of keys; nil for anything else.
func (w *goRewriter) maybe(n parse.Node) *parse.CommandNode {
	var base parse.Node
	var keys []string
	switch n := n.(type) {
	case *parse.FieldNode:
		base, keys = &parse.DotNode{NodeType: parse.NodeDot, Pos: n.Pos}, n.Ident
	case *parse.VariableNode:
		base, keys = &parse.VariableNode{NodeType: parse.NodeVariable, Pos: n.Pos, Ident: n.Ident[:1]}, n.Ident[1:]
	case *parse.ChainNode:
		base, keys = n.Node, n.Field
	}
	if len(keys) == 0 {
		return nil
	}
	args := []parse.Node{base}
	for _, key := range keys {
		args = append(args, &parse.StringNode{NodeType: parse.NodeString, Pos: n.Position(), Quoted: strconv.Quote(key), Text: key})
	}
	return w.ours(goMaybe, n.Position(), args...)
}

// maybe follows keys down from a value; nil where one is missing. The names of
// roots must be there.
func (g *goRun) maybe(args []any) (any, error) {
	value := args[0]
	for i, key := range args[1:] {
		next, found := below(value, key.(string))
		switch {
		case found:
			value = next
		case i == 0 && sameMap(value, g.dot):
			return nil, goMissingKey(key.(string), "."+key.(string))
		default:
			return nil, nil
		}
	}
	return value, nil
}

// below is a key of a map, or what a method without arguments gives: of times
// and versions.
func below(value any, key string) (any, bool) {
	if m, ok := value.(map[string]any); ok {
		next, found := m[key]
		return next, found
	}
	if value == nil {
		return nil, false
	}
	method := reflect.ValueOf(value).MethodByName(key)
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return nil, false
	}
	return method.Call(nil)[0].Interface(), true
}
