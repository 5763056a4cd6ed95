package document

import (
	"errors"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// built is a part of a document with its expressions evaluated.
type built struct {
	node    *yamlpos.Node
	part    *expr.Part // of an expression; else nil
	items   []*built
	pairs   []builtPair
	value   any  // without parts
	hasRest bool // something is left for the host
}

type builtPair struct {
	key   *yamlpos.Node
	value *built
}

// build evaluates the expressions in a node.
func (s *scope) build(n *yamlpos.Node, names *expr.Names) (*built, error) {
	p := &problems{}
	b := s.buildInto(n, names, p)
	if err := p.errs.Err(); err != nil || !p.reported {
		return b, err
	}
	return b, errReported
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

func (s *scope) buildInto(n *yamlpos.Node, names *expr.Names, errs *problems) *built {
	b := &built{node: n}
	switch {
	case n.Kind == yamlpos.List:
		list := []any{}
		for _, item := range n.Items {
			inner := s.buildInto(item, names, errs)
			b.items, b.hasRest = append(b.items, inner), b.hasRest || inner.hasRest
			list = append(list, inner.value)
		}
		b.value = list
	case n.Kind == yamlpos.Map:
		m := map[string]any{}
		for _, pair := range n.Pairs {
			inner := s.buildInto(pair.Value, names, errs)
			b.pairs, b.hasRest = append(b.pairs, builtPair{pair.Key, inner}), b.hasRest || inner.hasRest
			m[pair.Key.Text] = inner.value
		}
		b.value = expr.Secured(m)
	case isExpression(n):
		p, err := s.expression(n, names)
		errs.add(err)
		v, known := p.Value()
		if expr.IsLambda(v) {
			errs.add(n.Errorf("give it to map() or filter()", "the expression gives a lambda, which is no value"))
		}
		b.part, b.value, b.hasRest = &p, v, !known
	default:
		b.value = n.Value
		if text, ok := n.Value.(string); ok {
			b.value = expr.Plain(text)
		}
	}
	return b
}

// plain gives the node of what is known as a whole.
func (b *built) plain() *yamlpos.Node {
	if secure, ok := b.value.(expr.Secure); ok {
		return yamlpos.From(b.node, expr.Wrapped(secure))
	}
	switch {
	case b.part != nil:
		return yamlpos.From(b.node, expr.Wrapped(b.value))
	case b.items != nil || b.pairs != nil:
		return b.children((*built).plain)
	}
	if text, ok := b.value.(string); ok && text != b.node.Text {
		n := *b.node
		n.Text, n.Value = text, text
		return &n
	}
	return b.node
}

// revealed gives the node of what is known, with secure values as they are.
func (b *built) revealed() *yamlpos.Node {
	if secure, ok := b.value.(expr.Secure); ok {
		return yamlpos.From(b.node, expr.Revealed(secure))
	}
	switch {
	case b.part != nil:
		return yamlpos.From(b.node, expr.Revealed(b.value))
	case b.items != nil || b.pairs != nil:
		return b.children((*built).revealed)
	}
	return b.plain()
}

// sealed gives the node of what a host evaluates.
func (b *built) sealed(s *expr.Sealer) *yamlpos.Node {
	if secure, ok := b.value.(expr.Secure); ok && !b.hasRest {
		return yamlpos.From(b.node, s.Value(secure))
	}
	switch {
	case b.part != nil:
		return yamlpos.From(b.node, s.Value(*b.part))
	case b.items != nil || b.pairs != nil:
		return b.children(func(b *built) *yamlpos.Node { return b.sealed(s) })
	}
	return b.node // the text of a literal has its escape already
}

func (b *built) children(of func(*built) *yamlpos.Node) *yamlpos.Node {
	n := *b.node
	n.Items, n.Pairs = nil, nil
	for _, item := range b.items {
		n.Items = append(n.Items, of(item))
	}
	for _, pair := range b.pairs {
		n.Pairs = append(n.Pairs, yamlpos.Pair{Key: pair.key, Value: of(pair.value)})
	}
	return &n
}

// text gives the text of a node that must be known without a host: a name, a type.
func (s *scope) text(n *yamlpos.Node, what string, names *expr.Names) (string, bool) {
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
	p, err := s.expression(n, names)
	if err != nil {
		s.add(err)
		return "", false
	}
	v, known := p.Value()
	text, isText := v.(string)
	switch {
	case !known:
		s.add(n.Errorf("what depends on the host belongs into properties", "%s depends on the host", what))
	case expr.IsSecure(v):
		s.add(n.Errorf("", "%s is secure, and would be shown", what))
	case !isText:
		s.add(n.Errorf("", "%s must be a string, and the expression gives %s", what, expr.Kind(v)))
	default:
		return text, true
	}
	return "", false
}
