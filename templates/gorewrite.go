package templates

import (
	"strings"
	"text/template/parse"
)

// A goRewriter checks the trees of a Go template, notes what they can read, and
// puts our functions in.
type goRewriter struct {
	template *goTemplate
	mentions mentions
	indirect []parse.Pos // files whose path comes through a variable or the context
	inner    int         // ranges and withs around: the context is not the root
	err      error       // the first one
}

func (w *goRewriter) fail(pos parse.Pos, f *fault) {
	if w.err == nil {
		w.err = at(w.position(pos), f)
	}
}

func (w *goRewriter) position(pos parse.Pos) Position {
	return w.template.body.position(int(pos))
}

// finish looks at paths that came through variables: with those, the template
// must not read facts.
func (w *goRewriter) finish() error {
	if w.mentions.readsFacts() {
		for _, pos := range w.indirect {
			w.fail(pos, hostilePath("file"))
		}
	}
	return w.err
}

func (w *goRewriter) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			w.pipe(n.Pipe)
			if len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, goCommand(goText, n.Pos))
			}
		case *parse.IfNode:
			w.branch(&n.BranchNode, 0)
		case *parse.WithNode:
			w.branch(&n.BranchNode, 1)
		case *parse.RangeNode:
			w.branch(&n.BranchNode, 1)
			step := &parse.PipeNode{NodeType: parse.NodePipe, Pos: n.Pos, Cmds: []*parse.CommandNode{goCommand(goStep, n.Pos)}}
			n.List.Nodes = append([]parse.Node{&parse.ActionNode{NodeType: parse.NodeAction, Pos: n.Pos, Pipe: step}}, n.List.Nodes...)
		case *parse.TemplateNode:
			w.templatePipe(n.Pipe)
		}
	}
}

func goCommand(function string, pos parse.Pos) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{parse.NewIdentifier(function).SetPos(pos)}}
}

func (w *goRewriter) branch(b *parse.BranchNode, inner int) {
	w.pipe(b.Pipe)
	w.inner += inner
	w.list(b.List)
	w.inner -= inner
	w.list(b.ElseList)
}

// templatePipe is the context of a template that is called. To hand on one's own
// reads nothing: the called template is looked at as if it had the root.
func (w *goRewriter) templatePipe(p *parse.PipeNode) {
	if p == nil || len(p.Cmds) == 1 && len(p.Cmds[0].Args) == 1 && p.Cmds[0].Args[0].Type() == parse.NodeDot {
		return
	}
	w.pipe(p)
}

func (w *goRewriter) pipe(p *parse.PipeNode) {
	outside := w.mentions
	w.mentions = mentions{}
	indirect, reads := false, false
	for i, cmd := range p.Cmds {
		indirect = w.command(cmd, i > 0) || indirect
		name := goCallee(cmd)
		reads = reads || name == "file" || name == "readFile"
	}
	switch {
	case reads && w.mentions.readsFacts():
		w.fail(p.Pos, hostilePath("file"))
	case reads && indirect:
		w.indirect = append(w.indirect, p.Pos)
	}
	outside.add(&w.mentions)
	w.mentions = outside
}

// goCallee is the function that a command calls; "" if it calls none.
func goCallee(cmd *parse.CommandNode) string {
	if id, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return id.Ident
	}
	return ""
}

// command notes what a command reads and reports whether variables or a context
// are part of that.
func (w *goRewriter) command(cmd *parse.CommandNode, piped bool) (indirect bool) {
	switch goCallee(cmd) {
	case "lookup":
		if path, ok := goLiteral(cmd, 1); ok {
			w.mentions.lookup(path)
		} else {
			w.mentions.anything()
		}
	case "jet":
		w.jet(cmd, piped)
		return false
	}
	for _, arg := range cmd.Args {
		indirect = w.argument(arg) || indirect
	}
	return indirect
}

func goLiteral(cmd *parse.CommandNode, i int) (string, bool) {
	if i >= len(cmd.Args) {
		return "", false
	}
	s, ok := cmd.Args[i].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return s.Text, true
}

// jet binds jet to its source, which must be literal.
func (w *goRewriter) jet(cmd *parse.CommandNode, piped bool) {
	var literals []string
	for i := 1; i < len(cmd.Args); i++ {
		s, ok := goLiteral(cmd, i)
		if !ok {
			w.fail(cmd.Args[i].Position(), computedTemplate("jet"))
			return
		}
		literals = append(literals, s)
	}
	if piped {
		w.fail(cmd.Pos, computedTemplate("jet"))
		return
	}
	pos := w.position(cmd.Pos)
	pos.Verbatim = false // quoted, so lines cannot be counted
	call, err := newRenderCall("jet", literals, pos)
	if err != nil {
		if w.err == nil {
			w.err = at(pos, err)
		}
		return
	}
	w.template.calls[strings.Join(literals, "\x00")] = call
	w.mentions.calls = append(w.mentions.calls, call)
}

func (w *goRewriter) argument(n parse.Node) (indirect bool) {
	switch n := n.(type) {
	case *parse.FieldNode:
		if w.inner > 0 {
			return true
		}
		w.path(n.Ident)
	case *parse.DotNode:
		if w.inner > 0 {
			return true
		}
		w.mentions.anything()
	case *parse.VariableNode:
		if n.Ident[0] != "$" {
			return true
		}
		if w.path(n.Ident[1:]); len(n.Ident) == 1 {
			w.mentions.anything()
		}
	case *parse.ChainNode:
		return w.argument(n.Node)
	case *parse.PipeNode:
		for i, cmd := range n.Cmds {
			indirect = w.command(cmd, i > 0) || indirect
		}
	}
	return indirect
}

// path notes a path from the root.
func (w *goRewriter) path(keys []string) {
	if len(keys) > 0 && jetRoot(keys[0]) != "" {
		w.mentions.path(jetRoot(keys[0]), keys[1:])
	}
}
