package hiera

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/expression"
	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/scope"
)

// A document is a tree of values whose strings may hold expressions.
type document struct {
	node  *yamlpos.Node // a map; nil for none
	texts map[*yamlpos.Node]*expression.Text
}

// document parses the expressions of a map; name is what an error calls it.
func (p *sourceParser) document(n *yamlpos.Node, name string) document {
	if n.Kind != yamlpos.Map {
		p.errs.Add(n.Errorf("write key: value", "%s must be a map, not %s", name, n.Describe()))
		return document{}
	}
	d := document{node: n, texts: map[*yamlpos.Node]*expression.Text{}}
	p.parse(n, d.texts)
	return d
}

func (p *sourceParser) parse(n *yamlpos.Node, texts map[*yamlpos.Node]*expression.Text) {
	for _, item := range n.Items {
		p.parse(item, texts)
	}
	for _, pair := range n.Pairs {
		p.parse(pair.Value, texts)
	}
	if s, ok := n.Value.(string); ok && texts[n] == nil && expression.HasExpr(s) {
		texts[n] = p.text(n, s)
	}
}

func (p *sourceParser) text(n *yamlpos.Node, s string) *expression.Text {
	t, err := p.expression(s, diag.PositionOf(n))
	if err != nil {
		p.errs.Add(err)
		return nil
	}
	p.source.reads.Add(t.Reads())
	return t
}

// resolve gives the plain values of a document.
func (d document) resolve(r *render.Run, errs *yamlpos.Errors) map[string]any {
	return d.value(d.node, r, errs).(map[string]any)
}

func (d document) value(n *yamlpos.Node, r *render.Run, errs *yamlpos.Errors) any {
	switch n.Kind {
	case yamlpos.Map:
		m := make(map[string]any, len(n.Pairs))
		for _, pair := range n.Pairs {
			m[pair.Key.Text] = d.value(pair.Value, r, errs)
		}
		return m
	case yamlpos.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = d.value(item, r, errs)
		}
		return list
	}
	text := d.texts[n]
	if text == nil {
		return scope.WholeNumber(n.Value)
	}
	v, err := text.EvalIn(r)
	errs.Add(err)
	return v
}
