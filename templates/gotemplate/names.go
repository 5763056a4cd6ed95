package gotemplate

import (
	"slices"
	"strconv"
	"text/template/parse"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// builtins returns the functions of text/template itself that are not replaced, with their parameters.
func builtins() map[string]string {
	return map[string]string{
		"and": "aa*", "or": "aa*", "not": "a", "index": "aa*", "len": "a", "call": "aa*",
		"eq": "aaa*", "ne": "aa", "lt": "aa", "le": "aa", "gt": "aa", "ge": "aa", "jet": "s*",
	}
}

// functionNames returns the functions that can be written in a Go template.
func functionNames() []string {
	names := append(render.SortedKeys(allFunctions()), render.SortedKeys(builtins())...)
	return slices.DeleteFunc(names, func(name string) bool { return name[0] == '_' })
}

// callee checks the function that a command calls.
func (w *rewriter) callee(cmd *parse.CommandNode, piped bool) {
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
func (w *rewriter) function(id *parse.IdentifierNode, n int) {
	name := id.Ident
	params, known := builtins()[name]
	if fn, ok := allFunctions()[name]; ok && name[0] != '_' {
		params, known = fn.Params, true
		w.template.used = append(w.template.used, name)
		w.template.changes = w.template.changes || changesMaps(name)
	}
	if own := scaffoldParams(name); own != "" && w.template.scaffold != nil {
		params, known = own, true
	}
	f := diag.RefusedFunction(name)
	switch {
	case known:
		f = wrongCount(name, params, n)
	case f == nil:
		f = diag.NoSuchFunction(name, functionNames(), func(words diag.Equivalent) string { return words.Golang })
	}
	if f != nil {
		w.fail(id.Pos, f)
	}
}

// defaulting reports whether a function accepts a value that is missing.
func defaulting(name string) bool {
	return name == "default" || name == "coalesce" || name == "empty" || name == "or"
}

// defaults lets the keys be missing that a default follows in a pipe.
func (w *rewriter) defaults(p *parse.PipeNode) {
	for i, cmd := range p.Cmds {
		name := callee(cmd)
		next := ""
		if i+1 < len(p.Cmds) {
			next = callee(p.Cmds[i+1])
		}
		switch {
		case defaulting(next) && name == "" && len(cmd.Args) == 1:
			if maybe := w.maybe(cmd.Args[0]); maybe != nil {
				cmd.Args = maybe.Args
			}
		case defaulting(name):
			w.maybeArguments(cmd, i > 0, defaulting(next))
		}
	}
}

// maybeArguments lets the arguments of a defaulting function be missing, except the last
// resort: the default itself, and the last choice of or.
func (w *rewriter) maybeArguments(cmd *parse.CommandNode, piped, defaulted bool) {
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

// maybe returns a call of maybeFunc instead of a chain of keys; nil for any other node.
func (w *rewriter) maybe(n parse.Node) *parse.CommandNode {
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
	return w.ours(maybeFunc, n.Position(), args...)
}
