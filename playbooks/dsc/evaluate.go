package dsc

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// build evaluates the expressions in a node. The returned tree has a result in each place with a part that the host
// evaluates.
func (s *scope) build(ctx context.Context, n *yamlpos.Node, names *expr.Names) (any, error) {
	p := &problems{}
	tree := s.fold(ctx, n, names, p)
	if err := p.errs.Err(); err != nil || !p.reported {
		return tree, err
	}
	return tree, errReported
}

// problems are the errors of one build.
type problems struct {
	errs     yamlpos.Errors
	reported bool // there are others, which have been reported
}

func (p *problems) add(err error) {
	if errors.Is(err, errReported) {
		p.reported = true
		return
	}
	p.errs.Add(err)
}

// fold evaluates a node with its place in a file, like [expr.Scope.Evaluate] for values without one: in the written
// order, so that dependencies have that order, too, and with all errors.
func (s *scope) fold(ctx context.Context, n *yamlpos.Node, names *expr.Names, errs *problems) any {
	switch n.Kind {
	case yamlpos.List:
		list := []any{}
		for _, item := range n.Items {
			list = append(list, s.fold(ctx, item, names, errs))
		}
		return list
	case yamlpos.Map:
		m := map[string]any{}
		for _, pair := range n.Pairs {
			m[pair.Key.Text] = s.fold(ctx, pair.Value, names, errs)
		}
		return expr.Secured(m)
	}
	text, ok := n.Value.(string)
	if !ok {
		return n.Value
	}
	v, err := expr.FoldText(text, func(string) (expr.Result, error) {
		p, err := s.expression(ctx, n, names)
		if v, _ := p.Value(); expr.IsLambda(v) {
			return expr.Result{}, n.Errorf("give it to map() or filter()", "the expression returns a lambda, which is not a value")
		}
		return p, err
	})
	errs.add(err)
	return v
}

// isSecure reports whether anything in a tree is secure, or may become so on the host.
func isSecure(tree any) bool {
	return expr.IsSecure(tree) || expr.Some(tree, func(v any) bool {
		m, _ := v.(map[string]any)
		_, wrapped := m["secureObject"] // with a part in it, or it would be secure already
		return wrapped && len(m) == 1
	})
}

// A writer returns the nodes of a tree, with values in place of the expressions. [expr.Sealer] has the one for a host.
type writer struct {
	value   func(any) any // replacement of an expression
	escapes bool          // strings keep theirs, since the host takes them out
}

var (
	plain    = writer{value: expr.Wrapped}  // secure values stay in their objects
	revealed = writer{value: expr.Revealed} // secure values appear as they are
)

// write returns the node of a tree that was made from n.
func (w writer) write(n *yamlpos.Node, tree any) *yamlpos.Node {
	if _, secure := tree.(expr.Secure); secure || isExpression(n) {
		return yamlpos.From(n, w.value(tree))
	}
	written := *n
	written.Items, written.Pairs = nil, nil
	switch v := tree.(type) {
	case []any:
		for i, item := range n.Items {
			written.Items = append(written.Items, w.write(item, v[i]))
		}
	case map[string]any:
		for _, pair := range n.Pairs {
			written.Pairs = append(written.Pairs, yamlpos.Pair{Key: pair.Key, Value: w.write(pair.Value, v[pair.Key.Text])})
		}
	}
	if text, ok := n.Value.(string); ok && !w.escapes && expr.Plain(text) != n.Text {
		written.Text, written.Value = expr.Plain(text), expr.Plain(text)
	}
	return &written
}

// text returns the text of a node that must be independent of the host: a name, a type.
func (s *scope) text(ctx context.Context, n *yamlpos.Node, what string, names *expr.Names) (string, bool) {
	if n.Kind != yamlpos.Scalar || n.Value == nil {
		s.add(n.Errorf("", "%s must be a string, not %s", what, n.Describe()))
		return "", false
	}
	if !isExpression(n) {
		if text, ok := n.Value.(string); ok {
			return expr.Plain(text), true
		}
		return n.Text, true // a number that looks like a name
	}
	p, err := s.expression(ctx, n, names)
	if err != nil {
		s.add(err)
		return "", false
	}
	v, known := p.Value()
	text, isText := v.(string)
	switch {
	case !known:
		s.add(n.Errorf("use host-dependent expressions only in properties", "%s depends on the host", what))
	case expr.IsSecure(v):
		s.add(n.Errorf("", "%s is secure, but would be printed", what))
	case !isText:
		s.add(n.Errorf("", "%s must be a string, and the expression gives %s", what, expr.Kind(v)))
	default:
		return text, true
	}
	return "", false
}
