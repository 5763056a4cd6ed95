package gotemplate

import (
	"slices"
	"strings"
	"text/template/parse"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A rewriter checks the trees of a Go template, records what they can read, and inserts our functions.
//
// A chain of keys with a default may be missing: .a.b | default "x", default "x" .a.b, and likewise with coalesce,
// empty and or. If its first key is a root, that key must exist.
type rewriter struct {
	template  *engine
	languages render.Languages
	reads     render.Reads
	flow      render.Flow // flow of the current pipe
	indirect  []filePath  // files whose path comes through a variable or the context
	inner     int         // ranges and withs around: the context is not the root
	defined   bool        // in a template of its own: its context is unknown
	rooted    bool        // the current pipe reads a context or a variable
	err       error       // the first one
}

type filePath struct {
	pos  parse.Pos
	flow render.Flow
	text string
}

func (w *rewriter) fail(pos parse.Pos, err error) {
	if w.err == nil {
		w.err = diag.At(w.position(pos), err)
	}
}

func (w *rewriter) position(pos parse.Pos) diag.Position {
	return w.template.body.Position(int(pos))
}

// finish checks paths that came through variables: with those, the template must not read facts.
func (w *rewriter) finish() error {
	for _, p := range w.indirect {
		if p.flow.AddReads(&w.reads); w.template.scaffold != nil && w.template.scaffold.Part {
			p.flow.Anything() // the context of the part can be anything
		}
		w.path(p)
	}
	w.template.roots = w.reads.Roots
	slices.Sort(w.template.used)
	w.template.used = slices.Compact(w.template.used)
	return w.err
}

// path refuses a path of file that comes from facts, and notes one that may come
// from data.
func (w *rewriter) path(p filePath) {
	if p.flow.Facts {
		w.fail(p.pos, render.HostilePath("file"))
	}
	w.reads.Files = append(w.reads.Files, render.FilePath{At: w.position(p.pos), Flow: p.flow, Text: p.text})
}

func (w *rewriter) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			w.pipe(n.Pipe)
			if len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, w.ours(textFunc, n.Pos))
			}
		case *parse.IfNode:
			w.branch(&n.BranchNode, 0)
		case *parse.WithNode:
			w.branch(&n.BranchNode, 1)
		case *parse.RangeNode:
			w.branch(&n.BranchNode, 1)
			step := &parse.PipeNode{NodeType: parse.NodePipe, Pos: n.Pos, Cmds: []*parse.CommandNode{w.ours(stepFunc, n.Pos)}}
			n.List.Nodes = append([]parse.Node{&parse.ActionNode{NodeType: parse.NodeAction, Pos: n.Pos, Pipe: step}}, n.List.Nodes...)
		case *parse.TemplateNode:
			w.templatePipe(n.Pipe)
		}
	}
}

// ours returns a call of one of our functions.
func (w *rewriter) ours(function string, pos parse.Pos, args ...parse.Node) *parse.CommandNode {
	w.template.used = append(w.template.used, function)
	args = append([]parse.Node{parse.NewIdentifier(function).SetPos(pos)}, args...)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: args}
}

func (w *rewriter) branch(b *parse.BranchNode, inner int) {
	w.pipe(b.Pipe)
	w.inner += inner
	w.list(b.List)
	w.inner -= inner
	w.list(b.ElseList)
}

// templatePipe analyses the context passed to a called template. Passing the own context reads nothing: the called
// template is analysed as if it had the root.
func (w *rewriter) templatePipe(p *parse.PipeNode) {
	if p == nil || len(p.Cmds) == 1 && len(p.Cmds[0].Args) == 1 && p.Cmds[0].Args[0].Type() == parse.NodeDot {
		return
	}
	w.pipe(p)
}

// pipe analyses a pipe, and reports whether its value can come from a variable or the context.
func (w *rewriter) pipe(p *parse.PipeNode) (indirect bool) {
	outside, rooted := w.flow, w.rooted
	w.flow, w.rooted = render.Flow{}, false
	reads := false
	for i, cmd := range p.Cmds {
		if w.keysPiped(p, i) {
			continue
		}
		indirect = w.command(cmd, i > 0) || indirect
		name := callee(cmd)
		reads = reads || name == "file" || name == "readFile"
		if tells(name) { // the value of the pipe is yes or no, whatever went in
			w.flow, w.rooted, indirect = render.Flow{}, false, false
		}
	}
	switch path := (filePath{p.Pos, w.flow, p.String()}); {
	case reads && (indirect || w.defined && w.rooted):
		w.indirect = append(w.indirect, path)
	case reads:
		w.path(path)
	}
	outside.Add(w.flow)
	w.flow, w.rooted = outside, rooted || w.rooted
	w.defaults(p)
	return indirect
}

// callee returns the function that a command calls; "" if it calls none.
func callee(cmd *parse.CommandNode) string {
	if id, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return id.Ident
	}
	return ""
}

// tells reports whether a function returns only true or false.
func tells(name string) bool {
	switch name {
	case "eq", "ne", "lt", "le", "gt", "ge", "not", "empty", "all", "any", "has", "mustHas", "hasKey", "contains", "hasPrefix", "hasSuffix",
		"regexMatch", "mustRegexMatch", "semverCompare", "deepEqual", "typeIs", "typeIsLike", "kindIs", "isAbs", "osIsAbs":
		return true
	}
	return false
}

// command notes what a command reads, and reports whether it reads variables or a context.
func (w *rewriter) command(cmd *parse.CommandNode, piped bool) (indirect bool) {
	switch name := callee(cmd); name {
	case "lookup":
		if path, ok := literal(cmd, 1); ok {
			if f := render.NoRoot(path); f != nil {
				w.fail(cmd.Pos, f)
			}
			w.template.literals[path] = true
			w.reads.Lookup(path)
			w.flow.Lookup(path)
		} else {
			w.reads.Anything()
			w.flow.Anything()
		}
	case "env", "expandenv":
		w.reads.Root(render.EnvironRoot)
	case "fail":
		if s, ok := literal(cmd, 1); ok {
			w.template.literals[s] = true
		}
	case render.KVGetFunction, render.RegistrationsFunction:
		w.flow.Anything()
		w.reads.NATS = append(w.reads.NATS, render.NATSCall{Function: name, At: w.position(cmd.Pos)})
	case "jet":
		w.flow.Anything()
		w.jet(cmd, piped)
		return false
	case "render":
		if w.template.scaffold != nil {
			w.flow.Anything()
			w.renderPart(cmd, piped)
			return false
		}
	}
	w.callee(cmd, piped)
	noted := w.keysCommand(cmd)
	for i, arg := range cmd.Args {
		if i == 0 && callee(cmd) != "" || i > 0 && i == noted {
			continue
		}
		indirect = w.argument(arg) || indirect
	}
	return indirect
}

func literal(cmd *parse.CommandNode, i int) (string, bool) {
	if i >= len(cmd.Args) {
		return "", false
	}
	s, ok := cmd.Args[i].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return s.Text, true
}

// renderPart binds render to a file of the scaffold, which must be literal. The part is analysed as if it had the
// context of its caller.
func (w *rewriter) renderPart(cmd *parse.CommandNode, piped bool) {
	w.callee(cmd, piped)
	name, ok := literal(cmd, 1)
	if !ok {
		w.fail(cmd.Pos, render.NotLiteral("render"))
		return
	}
	for _, arg := range cmd.Args[2:] {
		if v, isVariable := arg.(*parse.VariableNode); arg.Type() != parse.NodeDot && !(isVariable && len(v.Ident) == 1 && v.Ident[0] == "$") {
			w.argument(arg)
		}
	}
	call, err := w.template.scaffold.Call(name, w.position(cmd.Pos), w.languages)
	if err != nil {
		w.fail(cmd.Pos, err)
		return
	}
	w.template.calls[renderKey(name)] = call
	w.reads.Calls = append(w.reads.Calls, call)
}

// renderKey distinguishes the calls of render from calls of jet.
func renderKey(name string) string { return "render\x00\x00" + name }

// jet binds jet to its source, which must be literal.
func (w *rewriter) jet(cmd *parse.CommandNode, piped bool) {
	var literals []string
	for i := 1; i < len(cmd.Args); i++ {
		s, ok := literal(cmd, i)
		if !ok {
			w.fail(cmd.Args[i].Position(), render.NotLiteral("jet"))
			return
		}
		literals = append(literals, s)
	}
	if piped {
		w.fail(cmd.Pos, render.NotLiteral("jet"))
		return
	}
	pos := w.position(cmd.Pos)
	pos.Verbatim = false // quoted, so lines cannot be counted
	call, err := render.NewCall("jet", literals, pos, w.languages)
	if err != nil {
		if w.err == nil {
			w.err = diag.At(pos, err)
		}
		return
	}
	w.template.calls[strings.Join(literals, "\x00")] = call
	w.reads.Calls = append(w.reads.Calls, call)
}
