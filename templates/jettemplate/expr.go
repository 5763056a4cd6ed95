package jettemplate

import (
	"slices"

	"github.com/CloudyKit/jet/v6"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// expr rewrites an expression.
func (w *rewriter) expr(e jet.Expression) jet.Expression {
	if left, right := sides(e); left != nil {
		return w.operation(e, left, right)
	}
	switch n := e.(type) {
	case *jet.IdentifierNode:
		w.noteContext(n)
		w.note(n)
		return w.identifier(n)
	case *jet.FieldNode, *jet.ChainNode, *jet.IndexExprNode:
		w.note(n)
		return w.spine(n)
	case *jet.CallExprNode:
		return w.call(n)
	case *jet.SliceExprNode:
		text := n.String()
		n.Base, n.Index, n.EndIndex = w.expr(n.Base), w.expr(n.Index), w.expr(n.EndIndex)
		return w.guarded(n, text, otherSite)
	case *jet.NotExprNode:
		n.Expr = w.expr(n.Expr)
	case *jet.TernaryExprNode:
		n.Boolean, n.Left, n.Right = w.expr(n.Boolean), w.expr(n.Left), w.expr(n.Right)
	case *jet.UnderscoreNode:
		w.fail(n, diag.Faultf("_ is allowed only as the place of a piped value"))
	}
	return e
}

// operation rewrites both sides of n, and n itself as guarded does unless it is logical.
func (w *rewriter) operation(n jet.Expression, left, right *jet.Expression) jet.Expression {
	if _, logical := n.(*jet.LogicalExprNode); logical {
		*left, *right = w.expr(*left), w.expr(*right)
		return n
	}
	text := n.String()
	_, equality := n.(*jet.ComparativeExprNode)
	leftNil, rightNil := isNil(*left), isNil(*right)
	*left, *right = w.compared(*left, equality && rightNil), w.compared(*right, equality && leftNil)
	return w.guarded(n, text, arithmeticSite)
}

func isNil(e jet.Expression) bool {
	_, is := e.(*jet.NilNode)
	return is
}

// compared rewrites one side of an operation. With withNil the
// last key may be missing.
func (w *rewriter) compared(e jet.Expression, withNil bool) jet.Expression {
	rewritten := w.expr(e)
	switch e.(type) {
	case *jet.FieldNode, *jet.ChainNode, *jet.IndexExprNode:
		if withNil { // the site of the last key was made last
			w.sites[len(w.sites)-1].last = render.Compared
		}
	}
	return rewritten
}

// identifier rewrites a variable, a root or the context.
func (w *rewriter) identifier(n *jet.IdentifierNode) jet.Expression {
	guarded := w.guarded(n, n.Ident, identifierSite)
	w.use(n)
	return guarded
}

// use checks the use of an identifier, or notes it for a check once all is parsed.
func (w *rewriter) use(n *jet.IdentifierNode) {
	switch {
	case n.Ident == ".", render.RootNamed(n.Ident) != "":
	case isFunction(n.Ident) && !w.isDeclared(n.Ident):
		w.fail(n, diag.Faultf("%q is a function", n.Ident).WithHint("call it: %s(…)", n.Ident))
	default:
		w.used = append(w.used, use{n.Ident, placeOf(n)})
	}
}

func (w *rewriter) isDeclared(name string) bool {
	for _, declared := range w.declared {
		if declared == name {
			return true
		}
	}
	return false
}

// note records the path that a chain of accesses reads.
func (w *rewriter) note(e jet.Expression) {
	if root, keys, _ := rootPath(e); root != "" && !slices.Contains(w.shadowed, identOf(e)) {
		w.reads.Path(root, keys)
	}
}

// noteContext records a use of "." where that is all values: in a scaffold.
func (w *rewriter) noteContext(n *jet.IdentifierNode) {
	if n.Ident == "." && w.inner == 0 && w.loader.scaffold != nil {
		w.reads.Anything()
		w.flows.rooted = true
	}
}

// anyHost stands for a name of a host that is computed, in a path below Hosts.
const anyHost = "*"

// rootPath follows accesses down to a root. The keys end before a computed one; whole reports that none is computed.
func rootPath(e jet.Node) (root string, keys []string, whole bool) {
	switch n := e.(type) {
	case *jet.IdentifierNode:
		return render.RootNamed(n.Ident), nil, true
	case *jet.ChainNode:
		root, keys, whole = rootPath(n.Node)
		if whole {
			keys = append(keys, n.Field...)
		}
		return root, keys, whole
	case *jet.IndexExprNode:
		root, keys, whole = rootPath(n.Base)
		key, literal := n.Index.(*jet.StringNode)
		if whole && !literal && root == render.HostsRoot && len(keys) == 0 {
			return root, []string{anyHost}, true
		}
		if !whole || !literal {
			return root, keys, false
		}
		return root, append(keys, key.Text), true
	}
	return "", nil, false
}

// spine rewrites a chain of accesses from its end to its start.
func (w *rewriter) spine(e jet.Expression) jet.Expression {
	switch n := e.(type) {
	case *jet.FieldNode: // of the context
		if root := render.RootNamed(n.Ident[0]); root != "" && w.loader.scaffold != nil {
			w.reads.Path(root, n.Ident[1:])
		}
		dot := &jet.IdentifierNode{NodeBase: base(n, jet.NodeIdentifier), Ident: "."}
		return w.member(n, w.identifier(dot), "", n.Ident)
	case *jet.ChainNode:
		text := n.Node.String()
		return w.member(n, w.spine(n.Node), text, n.Field)
	case *jet.IndexExprNode:
		s := site{keys: []string{shorten(n.String())}}
		return w.hidden(n, memberFunc, s, w.spine(n.Base), w.expr(n.Index))
	case *jet.IdentifierNode: // noted already, with its keys
		w.noteContext(n)
		return w.identifier(n)
	}
	return w.expr(e)
}

func (w *rewriter) member(n jet.Node, from jet.Expression, text string, fields []string) jet.Expression {
	args := []jet.Expression{from}
	var s site
	for _, field := range fields {
		args = append(args, &jet.StringNode{NodeBase: base(n, jet.NodeString), Text: field})
		text += "." + field
		s.keys = append(s.keys, shorten(text))
	}
	return w.hidden(n, memberFunc, s, args...)
}

// call rewrites the call of a function. There are no other callable values.
func (w *rewriter) call(n *jet.CallExprNode) jet.Expression {
	callee, ok := n.BaseExpr.(*jet.IdentifierNode)
	if of := methodOf(n, render.PrometheusMethod); of != nil {
		name := &jet.StringNode{NodeBase: base(n, jet.NodeString), Text: render.PrometheusMethod}
		return w.hidden(n, callFunc, site{text: render.PrometheusMethod}, name, w.expr(of))
	}
	if !ok {
		w.fail(n.BaseExpr, diag.Faultf("%q is not a function", shorten(n.BaseExpr.String())))
		return n
	}
	switch callee.Ident {
	case "isset":
		return w.isset(n)
	case "template", "jet":
		return w.render(n, callee.Ident)
	case "exec", "includeIfExists":
		return w.execute(n, callee.Ident)
	case "file", "readFile":
		w.file(n)
	case render.KVGetFunction, render.RegistrationsFunction:
		w.reads.NATS = append(w.reads.NATS, render.NATSCall{Function: callee.Ident, At: w.position(n)})
	case "render":
		if w.loader.scaffold != nil {
			return w.renderPart(n)
		}
	}
	if !isFunction(callee.Ident) && !(callee.Ident == "write" && w.loader.scaffold != nil) {
		fault := noFunction(callee.Ident)
		if callee.Ident == "todo" && len(n.Exprs) == 1 {
			if why, ok := n.Exprs[0].(*jet.StringNode); ok {
				fault = diag.Todo(why.Text)
			}
		}
		w.fail(callee, fault)
		return n
	}
	name := &jet.StringNode{NodeBase: base(n, jet.NodeString), Text: callee.Ident}
	s := site{text: callee.Ident}
	if callee.Ident == "lookup" && !w.lookup(n) {
		s.text = searchFunc
	}
	return w.hidden(n, callFunc, s, append([]jet.Expression{name}, w.all(n.Exprs)...)...)
}

// methodOf returns the expression whose method a call without arguments calls; nil if it calls another method, or none.
func methodOf(n *jet.CallExprNode, method string) jet.Expression {
	chain, ok := n.BaseExpr.(*jet.ChainNode)
	if !ok || len(n.Exprs) > 0 || chain.Field[len(chain.Field)-1] != method {
		return nil
	}
	of, _ := chain.Node.(jet.Expression)
	if len(chain.Field) == 1 {
		return of
	}
	without := *chain
	without.Field = chain.Field[:len(chain.Field)-1]
	return &without
}

func (w *rewriter) all(exprs []jet.Expression) []jet.Expression {
	list := make([]jet.Expression, len(exprs))
	for i, e := range exprs {
		list[i] = w.expr(e)
	}
	return list
}

// guarded wraps an expression in a call of one of our functions, which reports its errors.
func (w *rewriter) guarded(e jet.Expression, text string, kind siteKind) jet.Expression {
	return w.hidden(e, atFunc, site{kind: kind, text: shorten(text)}, e)
}

// isset rewrites isset(), whose arguments need not be defined.
func (w *rewriter) isset(n *jet.CallExprNode) jet.Expression {
	used := len(w.used)
	args := w.all(n.Exprs)
	w.used = w.used[:used]
	return w.hidden(n, issetFunc, site{}, args...)
}

// lookup notes what a lookup reads, and reports whether its path is a literal.
func (w *rewriter) lookup(n *jet.CallExprNode) bool {
	if len(n.Exprs) == 0 {
		return true // the call fails
	}
	path, literal := n.Exprs[0].(*jet.StringNode)
	if literal {
		if f := render.NoRoot(path.Text); f != nil {
			w.fail(n, f)
		}
		w.reads.Lookup(path.Text)
	} else {
		w.reads.Anything()
	}
	return literal
}

func (w *rewriter) file(n *jet.CallExprNode) {
	if len(n.Exprs) == 1 {
		w.flows.path(n.Exprs[0], placeOf(n))
	}
}

// render binds template() and jet() to their source, which must be literal.
func (w *rewriter) render(n *jet.CallExprNode, name string) jet.Expression {
	literals := make([]string, len(n.Exprs))
	for i, arg := range n.Exprs {
		s, ok := arg.(*jet.StringNode)
		if !ok {
			w.fail(arg, render.NotLiteral(name))
			return n
		}
		literals[i] = s.Text
	}
	pos := w.position(n)
	pos.Verbatim = false // quoted, so lines cannot be counted
	call, err := render.NewCall(name, literals, pos, w.loader.languages)
	if err != nil {
		if w.err == nil {
			w.err = diag.At(pos, err)
		}
		return n
	}
	w.reads.Calls = append(w.reads.Calls, call)
	function := &jet.StringNode{NodeBase: base(n, jet.NodeString), Text: name}
	return w.hidden(n, callFunc, site{text: name, call: call}, function)
}

// renderPart binds render() to a file of the scaffold, which must be literal. The part is analysed as if it had the
// context of its caller.
func (w *rewriter) renderPart(n *jet.CallExprNode) jet.Expression {
	if len(n.Exprs) != 2 {
		w.fail(n, diag.Faultf(`"render" takes a path and a context, not %d arguments`, len(n.Exprs)).WithHint(`write render("_partials/name", .)`))
		return n
	}
	name, ok := n.Exprs[0].(*jet.StringNode)
	if !ok {
		w.fail(n.Exprs[0], render.NotLiteral("render"))
		return n
	}
	call, err := w.loader.scaffold.Call(name.Text, w.position(n), w.loader.languages)
	if err != nil {
		w.fail(n, err)
		return n
	}
	w.reads.Calls = append(w.reads.Calls, call)
	context := n.Exprs[1]
	if dot, ok := context.(*jet.IdentifierNode); ok && dot.Ident == "." {
		context = w.identifier(dot)
	} else {
		context = w.expr(context)
	}
	return w.hidden(n, callFunc, site{text: "render", call: call}, name, context)
}

// execute rewrites exec() and includeIfExists(), which Jet itself runs.
func (w *rewriter) execute(n *jet.CallExprNode, function string) jet.Expression {
	if len(n.Exprs) < 1 || len(n.Exprs) > 2 {
		w.fail(n, diag.Faultf("%q takes the name of a template and perhaps its context", function))
		return n
	}
	name, ok := n.Exprs[0].(*jet.StringNode)
	if !ok {
		w.fail(n.Exprs[0], render.NotLiteral(function))
		return n
	}
	name.Text = w.sibling("/", name.Text)
	if function == "exec" || w.loader.Exists(name.Text) {
		w.load(n, name.Text)
	}
	if len(n.Exprs) == 2 {
		n.Exprs[1] = w.context(n.Exprs[1])
	}
	return w.hidden(n, deeperFunc, site{text: relative(name.Text)}, n)
}
