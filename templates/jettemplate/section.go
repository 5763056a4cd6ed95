package jettemplate

import (
	"strings"

	"github.com/CloudyKit/jet/v6"

	"github.com/ccm-push/ccm-push/templates/render"
)

// A section is a stretch of a template's outermost statements: a text, a value of the host, or a piece. Most
// templates consist of sections alone. Their text is then joined, and Jet executes only the pieces that no
// host has had yet.
type section struct {
	text  string
	value func(*render.Run) (any, error) // nil for other sections
	piece *piece                         // nil for other sections
	nodes []jet.Node                     // nodes of the piece, rewritten
}

// sections rewrites the outermost statements of a template. Adjacent statements that read nothing of the host's own
// make one piece. Statements that read its facts are separate, so that the rest is the same for all hosts.
func (w *rewriter) sections(statements []jet.Node) (rewritten []jet.Node) {
	all, whole := []section{}, true
	piece := func(nodes []jet.Node, reads *render.Reads) {
		p, guarded := w.piece(nodes, reads)
		all, rewritten = append(all, section{piece: p, nodes: nodes}), append(rewritten, guarded...)
	}
	var shared []jet.Node // neighbours, of the piece that is being collected
	var reads render.Reads
	var text strings.Builder // text of the text nodes among them
	texts := 0
	collected := func() {
		switch {
		case len(shared) > texts:
			piece(shared, &reads)
		case len(shared) > 0:
			all, rewritten = append(all, section{text: text.String()}), append(rewritten, shared...)
		}
		shared, reads, texts = nil, render.Reads{}, 0
		text.Reset()
	}
	for _, n := range statements {
		if !isPure(n) {
			collected()
			whole, rewritten = false, append(rewritten, w.statement(n)...)
			continue
		}
		value := w.valueOf(n)
		nodes, own := w.measured(n)
		switch literal, isText := n.(*jet.TextNode); {
		case isText:
			text.Write(literal.Text)
			texts++
			fallthrough
		case isShared(own):
			shared = append(shared, nodes...)
			reads.Add(own)
		case value != nil:
			collected()
			all, rewritten = append(all, section{value: value}), append(rewritten, nodes...)
		default:
			collected()
			piece(nodes, own)
		}
	}
	collected()
	w.parts = nil
	if whole {
		w.parts = all
	}
	return rewritten
}

// measured rewrites a statement and returns the values that it reads.
func (w *rewriter) measured(n jet.Node) ([]jet.Node, *render.Reads) {
	outer := w.reads
	w.reads = render.Reads{}
	nodes := w.statement(n)
	own := w.reads
	w.reads = outer
	w.reads.Add(&own)
	return nodes, &own
}

// isShared reports whether hosts are likely to have equal values for these reads.
func isShared(m *render.Reads) bool {
	return !m.Volatile && !m.Roots[render.FactsRoot] && !m.Roots[render.HostRoot] && !m.Roots[render.ResultsRoot] && !m.Roots[render.EnvironRoot]
}

// valueOf returns a function that evaluates a statement that prints a lookup of a literal path, or a value below a
// root; nil for any other statement. Its errors differ from the template's.
func (w *rewriter) valueOf(n jet.Node) func(*render.Run) (any, error) {
	action, ok := n.(*jet.ActionNode)
	if !ok || action.Pipe == nil {
		return nil
	}
	printed := w.pipeline(action.Pipe)
	if call, ok := printed.(*jet.CallExprNode); ok {
		return lookupOf(call)
	}
	root, keys, ok := literalPath(printed)
	if !ok {
		return nil
	}
	return func(r *render.Run) (any, error) {
		value, err := r.Env.Need(root)
		for i := 0; i < len(keys) && err == nil; i++ {
			value, err = r.Member(value, keys[i], render.Strict, "")
		}
		return value, err
	}
}

// lookupOf is valueOf for a call.
func lookupOf(call *jet.CallExprNode) func(*render.Run) (any, error) {
	function, ok := call.BaseExpr.(*jet.IdentifierNode)
	if !ok || function.Ident != "lookup" || len(call.Exprs) == 0 {
		return nil
	}
	var args []any
	for _, arg := range call.Exprs {
		text, ok := arg.(*jet.StringNode)
		if !ok {
			return nil
		}
		args = append(args, text.Text)
	}
	return func(r *render.Run) (any, error) { return callFunction(r, "lookup", args) }
}

// literalPath returns the root and the keys of accesses if none is computed.
func literalPath(e jet.Node) (root string, keys []string, ok bool) {
	switch n := e.(type) {
	case *jet.IdentifierNode:
		root = render.RootNamed(n.Ident)
		return root, nil, root != ""
	case *jet.ChainNode:
		root, keys, ok = literalPath(n.Node)
		return root, append(keys, n.Field...), ok
	case *jet.IndexExprNode:
		key, literal := n.Index.(*jet.StringNode)
		if root, keys, ok = literalPath(n.Base); !ok || !literal {
			return "", nil, false
		}
		return root, append(keys, key.Text), true
	}
	return "", nil, false
}

// sections returns the sections of the main template, each piece with a template that executes it alone; nil if the
// template has other parts.
func (l *loader) sections() ([]section, error) {
	all := l.rewriter.parts
	if len(l.units) > 1 { // it extends, imports or includes others
		return nil, nil
	}
	for i := range all {
		if all[i].piece == nil {
			continue
		}
		start, err := l.set.Parse("/·piece", "")
		if err != nil {
			return nil, err
		}
		start.Root.Nodes = all[i].nodes
		all[i].piece.start = start
	}
	return all, nil
}

// joined returns the text of a template that consists of sections. On any error ok is false: then the whole template is
// executed, which reports the error with its position.
func (t *engine) joined(r *render.Run) (text string, ok bool) {
	if t.sections == nil || r.Marked != nil || r.Lenient || r.Env.Settling != nil { // each value gets a mark, or means something else
		return "", false
	}
	var out strings.Builder
	out.Grow(int(t.longest.Load()))
	for i := range t.sections {
		s := &t.sections[i]
		text := s.text
		switch {
		case r.Step() != nil:
			return "", false
		case s.value != nil:
			value, err := s.value(r)
			if err == nil {
				text, err = printable(value)
			}
			if err != nil {
				return "", false
			}
		case s.piece != nil:
			if text, ok = t.made(r, s.piece); !ok {
				return "", false
			}
		}
		if out.Len()+len(text) > render.MaxOutput {
			return "", false
		}
		out.WriteString(text)
	}
	t.hint(out.Len())
	return out.String(), true
}

// made returns the text of a piece, which is executed unless its text for the same values is known from another host.
func (t *engine) made(r *render.Run, p *piece) (text string, ok bool) {
	text, key, known := p.recall(r.Env)
	if known {
		return text, true
	}
	x := t.begin(r)
	err := p.start.Execute(&x.out, x.vars, nil)
	if r.FinalErr(err) != nil {
		return "", false
	}
	text = x.out.String()
	x.end()
	if key != "" {
		p.remember(key, text)
	}
	return text, true
}
