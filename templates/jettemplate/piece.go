package jettemplate

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/CloudyKit/jet/v6"

	"github.com/ccm-push/ccm-push/templates/render"
)

// A piece is a range of a template whose text depends only on values that it reads from
// the roots. For hosts with equal values the text is made once: a file with a host's name
// in its first line is mostly pieces.
type piece struct {
	inputs render.Inputs
	roots  map[string]bool // that it reads
	off    bool            // it is executed always

	mu    sync.Mutex
	texts map[string]string // by the key of the inputs
	size  int               // of both, in bytes
	made  int               // how often a text was made
	again int               // how often that was not needed
}

const (
	// maxPiece bounds what is remembered of one piece, in bytes.
	maxPiece = 1 << 20
	// pieceTrial is how often a piece is made before it is given up because hardly any
	// two hosts have the same values.
	pieceTrial = 256
)

// recall gives the text for the values in env, if it is known. key is "" if the text is
// not to be remembered.
func (p *piece) recall(env *render.Env) (text, key string, known bool) {
	p.mu.Lock()
	own := p.isOwn()
	p.mu.Unlock()
	if p.off || own {
		return "", "", false
	}
	key, ok := p.inputs.Key(env)
	if !ok {
		return "", "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if text, known = p.texts[key]; known {
		p.again++
	}
	return text, key, known
}

// isOwn reports whether nearly every host has values of its own.
func (p *piece) isOwn() bool { return p.made >= pieceTrial && p.again < p.made/8 }

func (p *piece) remember(key, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := len(key) + len(text)
	if p.made++; p.isOwn() {
		p.texts = nil
	}
	if p.isOwn() || size > maxPiece {
		return
	}
	if p.size += size; p.texts == nil || p.size > maxPiece {
		p.texts, p.size = map[string]string{}, size
	}
	p.texts[key] = strings.Clone(text) // not the whole output that it is a part of
}

// piece rewrites a range so that it is executed only if its text is not known.
func (w *rewriter) piece(n *jet.RangeNode) []jet.Node {
	outer := w.reads
	w.reads = render.Reads{}
	nodes := w.statement(n)
	p := &piece{inputs: w.reads.Inputs(nil), roots: w.reads.Roots}
	usable := !w.reads.Roots[render.EnvironRoot] && !p.inputs.Volatile // Environ is in no key
	outer.Add(&w.reads)
	w.reads = outer
	if !usable {
		return nodes
	}
	s := site{text: "range", piece: p}
	whether := w.hidden(n, knownFunc, s)
	nodes = append(nodes, w.action(n, keepFunc, s))
	w.pieces = append(w.pieces, p)
	return []jet.Node{&jet.IfNode{BranchNode: jet.BranchNode{
		NodeBase: base(n, jet.NodeIf), Expression: whether,
		List: &jet.ListNode{NodeBase: base(n, jet.NodeList), Nodes: nodes},
	}}}
}

// isPiece reports whether a range declares its variables, changes none, has no
// context, and calls nothing but functions of their arguments.
func isPiece(n jet.Node) bool {
	r, ok := n.(*jet.RangeNode)
	return ok && (&pieceCheck{}).ranging(r)
}

// A pieceCheck walks a range, with the variables that are declared around it.
type pieceCheck struct{ declared []string }

func (c *pieceCheck) ranging(n *jet.RangeNode) bool {
	if n.Set == nil || !n.Set.Let || n.Set.IndexExprGetLookup || n.ElseList != nil || !c.all(n.Set.Right) {
		return false
	}
	outer := c.declared
	defer func() { c.declared = outer }()
	for _, left := range n.Set.Left {
		switch left := left.(type) {
		case *jet.UnderscoreNode:
		case *jet.IdentifierNode:
			c.declared = append(slices.Clip(c.declared), left.Ident)
		default:
			return false
		}
	}
	return c.list(n.List)
}

func (c *pieceCheck) list(l *jet.ListNode) bool {
	return l == nil || !slices.ContainsFunc(l.Nodes, func(n jet.Node) bool { return !c.node(n) })
}

func (c *pieceCheck) node(n jet.Node) bool {
	switch n := n.(type) {
	case *jet.TextNode:
		return true
	case *jet.ActionNode:
		return n.Set == nil && (n.Pipe == nil || c.pipeline(n.Pipe))
	case *jet.IfNode:
		return n.Set == nil && c.expr(n.Expression) && c.list(n.List) && c.list(n.ElseList)
	case *jet.RangeNode:
		return c.ranging(n)
	}
	return false
}

func (c *pieceCheck) pipeline(p *jet.PipeNode) bool {
	for i, cmd := range p.Cmds {
		if i > 0 || cmd.Exprs != nil {
			if !isPure(cmd.BaseExpr) || !c.all(cmd.Exprs) {
				return false
			}
			continue
		}
		if !c.expr(cmd.BaseExpr) {
			return false
		}
	}
	return true
}

func (c *pieceCheck) all(list []jet.Expression) bool {
	return !slices.ContainsFunc(list, func(e jet.Expression) bool { return !c.expr(e) })
}

func (c *pieceCheck) expr(e jet.Expression) bool {
	if left, right := sides(e); left != nil {
		return c.expr(*left) && c.expr(*right)
	}
	switch n := e.(type) {
	case nil:
		return true
	case *jet.StringNode, *jet.NumberNode, *jet.BoolNode, *jet.NilNode, *jet.UnderscoreNode:
		return true
	case *jet.IdentifierNode:
		return render.RootNamed(n.Ident) != "" || slices.Contains(c.declared, n.Ident)
	case *jet.ChainNode:
		of, ok := n.Node.(jet.Expression)
		return ok && c.expr(of)
	case *jet.IndexExprNode:
		return c.all([]jet.Expression{n.Base, n.Index})
	case *jet.SliceExprNode:
		return c.all([]jet.Expression{n.Base, n.Index, n.EndIndex})
	case *jet.NotExprNode:
		return c.expr(n.Expr)
	case *jet.TernaryExprNode:
		return c.all([]jet.Expression{n.Boolean, n.Left, n.Right})
	case *jet.CallExprNode:
		return isPure(n.BaseExpr) && c.all(n.Exprs)
	}
	return false
}

// isPure reports whether a call depends only on its arguments and on what the syntax tree
// shows that it reads: not on files, and not on what other templates do.
func isPure(function jet.Expression) bool {
	n, ok := function.(*jet.IdentifierNode)
	return ok && isFunction(n.Ident) &&
		!slices.Contains([]string{"exec", "file", "includeIfExists", "jet", "readFile", "template"}, n.Ident)
}

// known writes a piece that is known. Otherwise it is true: the piece is executed.
func (x *execution) known(s *site, a jet.Arguments) (reflect.Value, error) {
	x.key = ""
	if x.Marked != nil || x.Lenient || a.Runtime().Writer != &x.out { // each value gets a mark; the output is not what is written to
		return reflect.ValueOf(true), nil
	}
	text, key, known := s.piece.recall(x.Env)
	if !known {
		x.key, x.from = key, x.out.Len()
		return reflect.ValueOf(true), nil
	}
	x.printed += len(text)
	if err := x.CheckLength(x.printed); err != nil {
		return reflect.Value{}, err
	}
	_, err := x.out.WriteString(text)
	return reflect.ValueOf(false), err
}

// keep remembers the piece that has just been executed.
func (x *execution) keep(s *site, _ jet.Arguments) (reflect.Value, error) {
	if x.key != "" {
		s.piece.remember(x.key, x.out.String()[x.from:])
	}
	return reflect.Value{}, nil
}
