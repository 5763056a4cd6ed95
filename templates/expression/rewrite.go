package expression

import (
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A rewriter checks a syntax tree, records what it can read, and changes it: roots and accesses to keys become calls
// that can fail, every round of a loop counts a step, template() and jet() are bound to the sources they name.
type rewriter struct {
	expr      *Expr
	languages render.Languages // languages for template() and jet()
	err       error            // the first one
}

func (w *rewriter) fail(n ast.Node, f *diag.Fault) ast.Node {
	if w.err == nil {
		w.err = failed(n, f)
	}
	return n
}

func (w *rewriter) rewrite(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return w.identifier(n)
	case *ast.MemberNode:
		w.note(n)
		return w.spine(n, render.Strict)
	case *ast.ChainNode:
		w.note(n.Node)
		return w.present(n, w.spine(n.Node, render.Strict))
	case *ast.BinaryNode:
		return w.binary(n)
	case *ast.CallNode:
		return w.call(n)
	case *ast.BuiltinNode:
		w.expr.reads.Volatile = w.expr.reads.Volatile || n.Name == "now"
	case *ast.PredicateNode:
		return w.predicate(n)
	}
	return w.below(n)
}

// below rewrites the nodes below n.
func (w *rewriter) below(n ast.Node) ast.Node {
	for _, child := range tree(n) {
		*child = w.rewrite(*child)
	}
	return n
}

func (w *rewriter) identifier(n *ast.IdentifierNode) ast.Node {
	switch {
	case render.IsRoot(n.Value):
		w.expr.reads.Path(n.Value, nil)
		return w.rootCall(n, rootFunction)
	case n.Value == "$env":
		return w.fail(n, diag.Faultf("unknown name \"$env\"").WithHint("available: %s", strings.Join(render.RootNames(), ", ")))
	case isFunction(n.Value):
		return w.fail(n, diag.Faultf("%q is a function", n.Value).WithHint("call it: %s(…)", n.Value))
	}
	return n
}

func (w *rewriter) rootCall(n *ast.IdentifierNode, function string) ast.Node {
	return hidden(n, function, &ast.StringNode{Value: n.Value})
}

// hidden returns a call of one of our own functions in place of n; the run is its first argument.
func hidden(n ast.Node, function string, args ...ast.Node) ast.Node {
	args = append([]ast.Node{&ast.IdentifierNode{Value: "·run"}}, args...)
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: function}, Arguments: args}
	call.SetLocation(n.Location())
	return call
}

// note records the path that a chain of accesses reads.
func (w *rewriter) note(n ast.Node) {
	if root, keys, _ := rootPath(n); root != "" {
		w.expr.reads.Path(root, keys)
	}
}

// anyHost stands for a name of a host that is computed, in a path below Hosts.
const anyHost = "*"

// rootPath follows accesses down to a root. The keys end before a computed one; whole reports that none is computed.
func rootPath(n ast.Node) (root string, keys []string, whole bool) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		if render.IsRoot(n.Value) {
			return n.Value, nil, true
		}
	case *ast.ChainNode:
		return rootPath(n.Node)
	case *ast.MemberNode:
		root, keys, whole = rootPath(n.Node)
		key, literal := n.Property.(*ast.StringNode)
		if whole && !literal && root == render.HostsRoot && len(keys) == 0 {
			return root, []string{anyHost}, true
		}
		if !whole || !literal {
			return root, keys, false
		}
		return root, append(keys, key.Value), true
	}
	return "", nil, false
}

// spine rewrites a chain of accesses from its end to its start. All of them except the last are [render.Inner].
func (w *rewriter) spine(n ast.Node, how render.Access) ast.Node {
	switch n := n.(type) {
	case *ast.MemberNode:
		path := &ast.StringNode{Value: pathText(n)}
		step := how
		if n.Optional && (how&^render.Inner == render.Strict || how == render.Compared) {
			step = render.Optional | how&render.Inner
		}
		if how == render.Compared {
			how = render.Strict
		}
		base, key := w.spine(n.Node, how|render.Inner), w.rewrite(n.Property)
		return hidden(n, memberFunction, base, key, &ast.IntegerNode{Value: int(step)}, path)
	case *ast.ChainNode:
		return w.spine(n.Node, how)
	case *ast.IdentifierNode:
		if render.IsRoot(n.Value) { // noted already, with its keys
			return w.rootCall(n, baseFunction)
		}
	}
	return w.rewrite(n)
}

// pathText returns the source text of a value, for errors.
func pathText(n ast.Node) string {
	s := []rune(n.String())
	if len(s) > 80 {
		return string(s[:77]) + "…"
	}
	return string(s)
}

// present turns the result of a failed optional access into nil.
func (w *rewriter) present(n, value ast.Node) ast.Node {
	return hidden(n, presentFunction, value)
}

func (w *rewriter) binary(n *ast.BinaryNode) ast.Node {
	switch n.Operator {
	case "??":
		n.Left = w.defaulted(n.Left)
		n.Right = w.rewrite(n.Right)
		return n
	case "==", "!=":
		_, leftNil := n.Left.(*ast.NilNode)
		_, rightNil := n.Right.(*ast.NilNode)
		n.Left, n.Right = w.compared(n.Left, rightNil), w.compared(n.Right, leftNil)
		return n
	case "+": // the one operator that makes longer texts
		return hidden(n, boundedFunction, w.below(n))
	}
	return w.below(n)
}

// compared rewrites one side of a comparison. With withNil the last key
// may be missing.
func (w *rewriter) compared(n ast.Node, withNil bool) ast.Node {
	switch n.(type) {
	case *ast.MemberNode, *ast.ChainNode:
		if withNil {
			w.note(n)
			return w.present(n, w.spine(n, render.Compared))
		}
	}
	return w.rewrite(n)
}

// defaulted rewrites the left side of `??`.
func (w *rewriter) defaulted(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.MemberNode, *ast.ChainNode:
		w.note(n)
		return w.present(n, w.spine(n, render.Fallback))
	case *ast.BinaryNode:
		if n.Operator == "??" {
			n.Left, n.Right = w.defaulted(n.Left), w.defaulted(n.Right)
			return n
		}
	}
	return w.rewrite(n)
}

// predicate counts each round of filter, map and the like.
func (w *rewriter) predicate(n *ast.PredicateNode) ast.Node {
	body := w.rewrite(n.Node)
	round := &ast.SequenceNode{Nodes: []ast.Node{hidden(body, stepFunction), body}}
	round.SetLocation(body.Location())
	n.Node = round
	return n
}

func (w *rewriter) call(n *ast.CallNode) ast.Node {
	callee, named := n.Callee.(*ast.IdentifierNode)
	if !named {
		return w.method(n)
	}
	switch callee.Value {
	case "lookup":
		return w.lookup(n)
	case "file", "readFile":
		return w.file(n, callee.Value)
	case "template", "jet":
		return w.template(n, callee.Value)
	case "jinja":
		return w.jinja(n)
	case render.KVGetFunction, render.RegistrationsFunction:
		return w.nats(n, callee.Value)
	}
	w.arguments(n)
	if callee.Value == "toJSON" && len(n.Arguments) == 1 {
		return hidden(n, jsonFunction, n.Arguments...)
	}
	return n
}

func (w *rewriter) arguments(n *ast.CallNode) {
	for i := range n.Arguments {
		n.Arguments[i] = w.rewrite(n.Arguments[i])
	}
}

// method leaves the access to the method alone: times and durations have some,
// and nothing else does.
func (w *rewriter) method(n *ast.CallNode) ast.Node {
	if member, ok := n.Callee.(*ast.MemberNode); ok {
		member.Node = w.rewrite(member.Node)
	} else {
		n.Callee = w.rewrite(n.Callee)
	}
	w.arguments(n)
	return n
}

func (w *rewriter) lookup(n *ast.CallNode) ast.Node {
	if len(n.Arguments) < 1 || len(n.Arguments) > 2 {
		return w.fail(n, diag.Faultf(`"lookup" takes a path and perhaps a default, not %d arguments`, len(n.Arguments)))
	}
	function := searchFunction
	if path, ok := n.Arguments[0].(*ast.StringNode); ok {
		if f := render.NoRoot(path.Value); f != nil {
			return w.fail(n, f)
		}
		w.expr.reads.Lookup(path.Value)
		function = lookupFunction
	} else {
		w.expr.reads.Anything()
	}
	w.arguments(n)
	return hidden(n, function, n.Arguments...)
}

// file refuses a path that comes from the host.
func (w *rewriter) file(n *ast.CallNode, name string) ast.Node {
	if len(n.Arguments) != 1 {
		return w.fail(n, diag.Faultf("%q takes one path, not %d arguments", name, len(n.Arguments)))
	}
	path := render.FilePath{At: w.expr.origin.at(byteOffset(w.expr.source, n.Location().From)), Flow: flowOf(n.Arguments[0]), Text: n.Arguments[0].String()}
	if path.Flow.Facts {
		return w.fail(n, render.HostilePath(name))
	}
	w.expr.reads.Files = append(w.expr.reads.Files, path)
	return hidden(n, fileFunction, w.rewrite(n.Arguments[0]))
}

// nats records a call that queries NATS.
func (w *rewriter) nats(n *ast.CallNode, name string) ast.Node {
	if want, _ := render.AsksNATS(name); len(n.Arguments) != want {
		return w.fail(n, diag.Faultf("%q takes %d arguments, not %d", name, want, len(n.Arguments)))
	}
	at := w.expr.origin.at(byteOffset(w.expr.source, n.Location().From))
	w.expr.reads.NATS = append(w.expr.reads.NATS, render.NATSCall{Function: name, At: at})
	w.arguments(n)
	return hidden(n, natsFunction, append([]ast.Node{&ast.StringNode{Value: name}}, n.Arguments...)...)
}

// finish checks paths that came through variables: those may hold any value that the expression reads.
func (w *rewriter) finish() error {
	paths := w.expr.reads.Files
	for i := range paths {
		f := &paths[i].Flow
		if len(f.Variables) == 0 {
			continue
		}
		if f.AddReads(&w.expr.reads); f.Facts && w.err == nil {
			w.err = diag.At(paths[i].At, render.HostilePath("file"))
		}
	}
	return w.err
}

// template binds template() and jet() to their source, which must be a literal:
// host data can then never become template source.
func (w *rewriter) template(n *ast.CallNode, name string) ast.Node {
	literals := make([]string, len(n.Arguments))
	for i, arg := range n.Arguments {
		s, ok := arg.(*ast.StringNode)
		if !ok {
			return w.fail(arg, render.NotLiteral(name))
		}
		literals[i] = s.Value
	}
	call, err := render.NewCall(name, literals, w.literalPosition(n), w.languages)
	if err != nil {
		if f, ok := err.(*diag.Fault); ok {
			return w.fail(n, f)
		}
		w.err = err
		return n
	}
	w.expr.reads.Calls = append(w.expr.reads.Calls, call)
	return hidden(n, renderFunction, &ast.ConstantNode{Value: call})
}

// jinja binds jinja() to its text, which must be a literal.
func (w *rewriter) jinja(n *ast.CallNode) ast.Node {
	if len(n.Arguments) != 1 {
		return w.fail(n, diag.Faultf("jinja: %d arguments", len(n.Arguments)).WithHint("write jinja('{{ a | default(1) }}'), or a condition: jinja('a is defined')"))
	}
	s, ok := n.Arguments[0].(*ast.StringNode)
	if !ok {
		return w.fail(n.Arguments[0], render.NotLiteral("jinja"))
	}
	value, err := w.languages.ParseJinjaValue(s.Value, w.literalPosition(n))
	if err != nil {
		w.err = err
		return n
	}
	w.expr.reads.Add(value.Reads())
	return hidden(n, jinjaFunction, &ast.ConstantNode{Value: value})
}

// literalPosition returns the position of the literal argument of a call.
func (w *rewriter) literalPosition(n *ast.CallNode) diag.Position {
	if len(n.Arguments) == 0 {
		return diag.Position{}
	}
	offset := byteOffset(w.expr.source, n.Arguments[0].Location().From)
	return w.expr.origin.at(offset + len(`"`))
}
