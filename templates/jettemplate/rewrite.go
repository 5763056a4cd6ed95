package jettemplate

import (
	"path"
	"slices"

	"github.com/CloudyKit/jet/v6"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// hiddenPrefix begins the names of the functions that the rewriter puts into Jet
// templates. It cannot be written there.
const hiddenPrefix = "·"

// Those functions. Their first argument is the number of a site.
const (
	atFunc     = "·at"     // an expression that may fail
	memberFunc = "·member" // base, keys …
	foundFunc  = "·found"  // base, key: no value if the key is missing
	issetFunc  = "·isset"  // expressions …
	callFunc   = "·call"   // name of a function, arguments …
	rangeFunc  = "·range"  // the value to range over
	printFunc  = "·print"  // a value
	deeperFunc = "·deeper" // an expression that executes a template
	enterFunc  = "·enter"  // a template or block begins
	leaveFunc  = "·leave"  // and ends
	tryFunc    = "·try"    // a try begins
	caughtFunc = "·caught" // and has ended, well or not
	knownFunc  = "·known"  // a piece begins: whether to execute it
	keepFunc   = "·keep"   // and has been
)

// A site is a place in a template at which something can fail.
type site struct {
	place
	kind siteKind
	text string        // the source of an expression; the name of a template or block
	keys []string      // set for a member: the source up to each key
	last render.Access // access to the last key
	call *render.Call  // template() or jet()
	mark int           // pairs the begin and the end of a try

	flow render.Flow // flow of a printed value

	piece *piece
}

type siteKind int

const (
	otherSite siteKind = iota
	identifierSite
	arithmeticSite
	blockSite
	literalSite // text of the template itself
)

// A rewriter checks the trees of a set of Jet templates, records what they can read, and inserts our functions where
// Jet's own evaluation would report no error or would show values.
type rewriter struct {
	loader   *loader
	sites    []site
	reads    render.Reads
	flows    flows
	declared []string
	used     []use    // identifiers that must be declared somewhere
	inner    int      // ranges around that set the context
	shadowed []string // variables of the ranges around, of which some are called as roots are
	pieces   []*piece
	stands   map[*jet.IfNode][]jet.Node // original nodes, by the node that replaces them
	returns  bool                       // there is a return
	parts    []section                  // sections of the last rewritten template; nil if it has other statements
	err      error                      // the first one
}

type use struct {
	name string
	place
}

func (w *rewriter) fail(n jet.Node, err error) {
	if w.err == nil {
		w.err = diag.At(w.position(n), err)
	}
}

// finish checks what can be known once all templates are parsed.
func (w *rewriter) finish() error {
	for _, u := range w.used {
		if w.err == nil && !slices.Contains(w.declared, u.name) {
			w.err = diag.At(u.in(w.loader.units), undefined(u.name, w.declared))
		}
	}
	for _, p := range w.flows.paths {
		path := render.FilePath{At: p.in(w.loader.units), Flow: w.flows.resolve(p.flow), Text: p.text}
		if path.Flow.Facts && w.err == nil {
			w.err = diag.At(path.At, render.HostilePath("file"))
		}
		w.reads.Files = append(w.reads.Files, path)
	}
	for _, name := range w.declared {
		root := render.RootNamed(name)
		for _, p := range w.pieces { // the name of a root may be a variable
			p.off = p.off || p.roots[root]
		}
	}
	if w.returns {
		w.unguarded()
	}
	for _, p := range w.flows.printed {
		w.sites[p.site].flow = w.flows.resolve(p.flow)
	}
	return w.err
}

func undefined(name string, declared []string) *diag.Fault {
	f := diag.Faultf("identifier %q is not defined", name)
	names := append(render.RootNames(), declared...)
	if f.Hint = diag.DidYouMean(names, name); f.Hint != "" {
		return f
	}
	if f.Hint = diag.AnsibleVariable(name); f.Hint != "" {
		return f
	}
	slices.Sort(names)
	return f.WithHint("defined names: %s", diag.ListNames(slices.Compact(names)))
}

func (w *rewriter) template(t *jet.Template) {
	defer w.unshadowed()()
	if w.loader.scaffold != nil {
		w.list(t.Root)
		return
	}
	t.Root.Nodes = w.sections(t.Root.Nodes)
}

// position returns the position where a node begins.
func (w *rewriter) position(n jet.Node) diag.Position {
	return placeOf(n).in(w.loader.units)
}

func (w *rewriter) list(l *jet.ListNode) {
	if l == nil {
		return
	}
	nodes := make([]jet.Node, 0, len(l.Nodes))
	for _, n := range l.Nodes {
		nodes = append(nodes, w.statement(n)...)
	}
	l.Nodes = nodes
}

func (w *rewriter) statement(n jet.Node) []jet.Node {
	switch n := n.(type) {
	case *jet.TextNode:
		literal := &jet.StringNode{NodeBase: base(n, jet.NodeString), Text: string(n.Text)}
		return []jet.Node{w.action(n, printFunc, site{kind: literalSite}, literal)}
	case *jet.ActionNode:
		w.set(n.Set, false)
		if n.Pipe == nil {
			return []jet.Node{n}
		}
		value := w.pipeline(n.Pipe)
		printed := site{text: shorten(value.String())}
		from := flowOf(value)
		rewritten := w.printed(value, &printed)
		w.flows.printed = append(w.flows.printed, printedValue{from, len(w.sites)})
		n.Pipe = w.action(value, printFunc, printed, rewritten).Pipe
	case *jet.IfNode:
		w.set(n.Set, false)
		n.Expression = w.expr(n.Expression)
		w.list(n.List)
		w.list(n.ElseList)
	case *jet.RangeNode:
		w.ranging(n)
	case *jet.TryNode:
		return w.try(n)
	case *jet.YieldNode:
		w.parameters(n.Parameters)
		n.Expression = w.context(n.Expression)
		w.yielded(n.Content)
	case *jet.BlockNode:
		w.block(n)
	case *jet.IncludeNode:
		return w.include(n)
	case *jet.ReturnNode:
		w.returns = true
		n.Value = w.expr(n.Value)
	}
	return []jet.Node{n}
}

// printed rewrites an expression that is printed at a site. A variable needs no site of
// its own: the function that prints it reports its errors.
func (w *rewriter) printed(e jet.Expression, at *site) jet.Expression {
	n, ok := e.(*jet.IdentifierNode)
	if !ok || n.Ident == "." {
		return w.expr(e)
	}
	w.note(n)
	w.use(n)
	at.kind, at.text = identifierSite, n.Ident
	return n
}

// pipeline turns a | f: x into f(a, x).
func (w *rewriter) pipeline(p *jet.PipeNode) jet.Expression {
	var value jet.Expression
	for i, cmd := range p.Cmds {
		call := cmd.CallExprNode
		switch {
		case i > 0:
			value = &jet.CallExprNode{NodeBase: base(call.BaseExpr, jet.NodeCallExpr), BaseExpr: call.BaseExpr,
				CallArgs: jet.CallArgs{Exprs: piped(call.CallArgs, value)}}
		case call.Exprs == nil:
			value = call.BaseExpr
		default:
			value = &jet.CallExprNode{NodeBase: base(call.BaseExpr, jet.NodeCallExpr), BaseExpr: call.BaseExpr,
				CallArgs: jet.CallArgs{Exprs: call.Exprs}}
		}
	}
	return value
}

// piped puts the value of a pipe at its slot, or first.
func piped(args jet.CallArgs, value jet.Expression) []jet.Expression {
	if !args.HasPipeSlot {
		return append([]jet.Expression{value}, args.Exprs...)
	}
	exprs := slices.Clone(args.Exprs)
	for i, e := range exprs {
		if e.Type() == jet.NodeUnderscore {
			exprs[i] = value
		}
	}
	return exprs
}

// set rewrites an assignment. Only variables can be assigned to: the values that a
// template gets are shared by the host's whole run.
func (w *rewriter) set(s *jet.SetNode, inRange bool) {
	if s == nil {
		return
	}
	for i, left := range s.Left {
		switch left := left.(type) {
		case *jet.IdentifierNode:
			w.declare(left.Ident)
			w.flows.assign(left.Ident, s.Right[min(i, len(s.Right)-1)])
		case *jet.UnderscoreNode:
		default:
			w.fail(left, diag.Faultf("%q cannot be assigned to", shorten(left.String())).WithHint("a template changes its own variables only"))
		}
	}
	for i, right := range s.Right {
		if index, ok := right.(*jet.IndexExprNode); ok && s.IndexExprGetLookup {
			w.note(index)
			s.Right[i] = w.hidden(index, foundFunc, site{}, w.spine(index.Base), w.expr(index.Index))
			continue
		}
		s.Right[i] = w.expr(right)
		if inRange {
			s.Right[i] = w.hidden(right, rangeFunc, site{}, s.Right[i])
		}
	}
}

func (w *rewriter) declare(name string) { w.declared = append(w.declared, name) }

func (w *rewriter) ranging(n *jet.RangeNode) {
	if n.Set != nil {
		w.flows.assign(".", n.Set.Right[0])
		w.set(n.Set, true)
	} else {
		w.flows.assign(".", n.Expression)
		n.Expression = w.hidden(n.Expression, rangeFunc, site{}, w.expr(n.Expression))
		w.inner++
		defer func() { w.inner-- }()
	}
	outer := w.shadowed
	if n.Set != nil && n.Set.Let {
		for _, left := range n.Set.Left {
			if name, ok := left.(*jet.IdentifierNode); ok {
				w.shadowed = append(slices.Clip(w.shadowed), name.Ident)
			}
		}
	}
	w.list(n.List)
	w.shadowed = outer
	w.list(n.ElseList)
}

// unshadowed begins a part that may be executed in another place than its own, where the variables of the surrounding
// ranges do not apply; the result ends it.
func (w *rewriter) unshadowed() (end func()) {
	outer := w.shadowed
	w.shadowed = nil
	return func() { w.shadowed = outer }
}

func (w *rewriter) yielded(content *jet.ListNode) {
	defer w.unshadowed()()
	w.list(content)
}

// try puts marks where a try begins and ends, since a failure within it leaves templates
// and blocks without passing their ends.
func (w *rewriter) try(n *jet.TryNode) []jet.Node {
	w.list(n.List)
	pair := site{mark: len(w.sites)}
	begin, end := w.action(n, tryFunc, pair), w.action(n, caughtFunc, pair)
	if n.Catch != nil {
		if n.Catch.Err != nil {
			w.declare(n.Catch.Err.Ident)
		}
		w.list(n.Catch.List)
	}
	return []jet.Node{begin, n, end}
}

func (w *rewriter) parameters(list *jet.BlockParameterList) {
	if list == nil {
		return
	}
	for i, p := range list.List {
		if p.Identifier != "" {
			w.declare(p.Identifier)
			w.flows.assign(p.Identifier, p.Expression)
		}
		list.List[i].Expression = w.expr(p.Expression)
	}
}

// context rewrites the expression that becomes the context ".".
func (w *rewriter) context(e jet.Expression) jet.Expression {
	w.flows.assign(".", e)
	return w.expr(e)
}

func (w *rewriter) block(n *jet.BlockNode) {
	defer w.unshadowed()()
	w.parameters(n.Parameters)
	n.Expression = w.context(n.Expression)
	w.list(n.List)
	w.list(n.Content)
	s := site{kind: blockSite, text: n.Name}
	enter, leave := w.action(n, enterFunc, s), w.action(n, leaveFunc, s)
	n.List.Nodes = append(append([]jet.Node{enter}, n.List.Nodes...), leave)
}

func (w *rewriter) include(n *jet.IncludeNode) []jet.Node {
	name, ok := n.Name.(*jet.StringNode)
	if !ok {
		w.fail(n.Name, render.NotLiteral("include"))
		return []jet.Node{n}
	}
	name.Text = w.sibling(n.TemplatePath, name.Text)
	w.load(n, name.Text)
	if n.Context != nil {
		n.Context = w.context(n.Context)
	}
	s := site{text: relative(name.Text)}
	enter, leave := w.action(n, enterFunc, s), w.action(n, leaveFunc, s)
	return []jet.Node{enter, n, leave}
}

// sibling returns the absolute path of a template named in another.
func (w *rewriter) sibling(from, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(path.Dir(from), name)
}

// load parses a template that is executed later, because no file is read at run time.
func (w *rewriter) load(n jet.Node, name string) {
	if w.err != nil {
		return
	}
	_, err := w.loader.template(name)
	if err == nil || w.err != nil {
		return
	}
	if _, missing := w.loader.files.Read(relative(name)); missing != nil {
		err = missing
	}
	w.fail(n, err)
}
