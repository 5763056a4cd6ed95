package jettemplate

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/CloudyKit/jet/v6"

	"github.com/ccm-push/ccm-push/templates/render"
)

// A piece is a part of a template whose text depends only on values that it reads from
// the roots. For hosts with equal values the text is made once: a file with a host's name
// in its first line is mostly pieces.
type piece struct {
	inputs render.Inputs
	roots  map[string]bool // roots that it reads
	off    bool            // the piece is always executed
	start  *jet.Template   // executes it alone; nil where the template has more than [section]s

	own   atomic.Bool // nearly every host has values of its own
	mu    sync.Mutex
	texts map[string]string // by the key of the inputs
	size  int               // total of keys and texts, in bytes
	made  int               // how often a text was made
	again int               // how often that was not needed
}

const (
	// maxPiece limits the texts that are remembered for one piece, in bytes.
	maxPiece = 1 << 20
	// pieceTrial is the number of times a piece is made before a decision: if hardly any two hosts have the same
	// values, its cache is given up.
	pieceTrial = 256
)

// recall returns the text for the values in env, if it is known. key is "" if the text must not be remembered.
func (p *piece) recall(env *render.Env) (text, key string, known bool) {
	if p.off || p.own.Load() {
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

func (p *piece) remember(key, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := len(key) + len(text)
	if p.made++; p.made >= pieceTrial && p.again < p.made/8 {
		p.own.Store(true)
		p.texts = nil
	}
	if p.own.Load() || size > maxPiece {
		return
	}
	if p.size += size; p.texts == nil || p.size > maxPiece {
		p.texts, p.size = map[string]string{}, size
	}
	p.texts[key] = strings.Clone(text) // not the whole output that it is a part of
}

// piece wraps rewritten statements in one statement that executes them only if their text is not known. reads are the
// values that they read.
func (w *rewriter) piece(nodes []jet.Node, reads *render.Reads) (*piece, []jet.Node) {
	first := nodes[0]
	p := &piece{inputs: reads.Inputs(nil), roots: reads.Roots}
	p.off = reads.Roots[render.EnvironRoot] || p.inputs.Volatile // Environ is in no key
	w.pieces = append(w.pieces, p)
	if p.off {
		return p, nodes
	}
	s := site{text: "piece", piece: p}
	whether := w.hidden(first, knownFunc, s)
	list := append(slices.Clip(nodes), w.action(first, keepFunc, s))
	guard := &jet.IfNode{BranchNode: jet.BranchNode{
		NodeBase: base(first, jet.NodeIf), Expression: whether,
		List: &jet.ListNode{NodeBase: base(first, jet.NodeList), Nodes: list},
	}}
	w.stands[guard] = nodes
	return p, []jet.Node{guard}
}

// unguarded makes all pieces always execute. It is needed for templates with a return: Jet continues after it, and
// skips ranges until an if has been executed (v6.3.3, eval.go, Runtime.executeList), and our ifs would count.
func (w *rewriter) unguarded() {
	for _, t := range w.loader.parsed {
		var nodes []jet.Node
		for _, n := range t.Root.Nodes {
			if guard, ok := n.(*jet.IfNode); ok && w.stands[guard] != nil {
				nodes = append(nodes, w.stands[guard]...)
			} else {
				nodes = append(nodes, n)
			}
		}
		t.Root.Nodes = nodes
	}
	for _, p := range w.pieces {
		p.off = true
	}
}

// isPure reports whether what a statement writes depends on nothing but the roots: it declares the
// variables that it uses, changes none, has no context, and calls nothing but functions of their arguments.
func isPure(n jet.Node) bool { return (&pieceCheck{}).node(n) }

// A pieceCheck walks a statement, with the variables that are declared around it.
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
			if !callsPure(cmd.BaseExpr) || !c.all(cmd.Exprs) {
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
		return callsPure(n.BaseExpr) && c.all(n.Exprs)
	}
	return false
}

// callsPure reports whether a call depends only on its arguments and on the values that the syntax tree names: not on
// files, nor NATS, and not on other templates.
func callsPure(function jet.Expression) bool {
	n, ok := function.(*jet.IdentifierNode)
	return ok && isFunction(n.Ident) &&
		!slices.Contains([]string{"exec", "file", "includeIfExists", "jet", render.KVGetFunction, "readFile", render.RegistrationsFunction, "template"}, n.Ident)
}

// known writes a piece that is known. Otherwise it is true: the piece is executed.
func (x *execution) known(s *site, a jet.Arguments) (reflect.Value, error) {
	x.key = ""
	if x.Marked != nil || x.Lenient || a.Runtime().Writer != &x.out { // each value needs a mark, or the writer is not the output
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
