package templates

import (
	"context"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/expression"
	"github.com/ccm-push/ccm-push/templates/render"
)

func (p *sourceParser) hierarchy(n *yamlpos.Node) {
	if !given(n) {
		p.source.order = []*expression.Text{expression.Literal("default")}
		return
	}
	if n.Kind != yamlpos.Map {
		p.errs.Add(n.Errorf("write order: [...] and merge: first or deep", `"hierarchy" must be a map, not %s`, n.Describe()))
		return
	}
	for _, pair := range n.Pairs {
		switch pair.Key.Text {
		case "order", "merge":
		default:
			p.errs.Add(pair.Key.Errorf(`it has the keys "order" and "merge"`, `unknown key %q in "hierarchy"`, pair.Key.Text))
		}
	}
	p.order(n)
	p.merge(n.Get("merge"))
}

func (p *sourceParser) order(hierarchy *yamlpos.Node) {
	order := hierarchy.Get("order")
	if order == nil {
		order = hierarchy
	}
	if order.Kind != yamlpos.List {
		p.errs.Add(order.Errorf(`write order: ["os:{{ lookup('facts.host.info.os') }}", default]`, `"hierarchy.order" must be a list`))
		return
	}
	for _, item := range order.Items {
		s, ok := item.Value.(string)
		if !ok {
			p.errs.Add(item.Errorf("put it in quotes", `"hierarchy.order" must contain only strings`))
			continue
		}
		p.source.order = append(p.source.order, p.text(item, s))
	}
}

func (p *sourceParser) merge(n *yamlpos.Node) {
	if !given(n) {
		return
	}
	if n.Kind != yamlpos.Scalar {
		p.errs.Add(n.Errorf("write first or deep", `"hierarchy.merge" must be a single value, not %s`, n.Describe()))
		return
	}
	switch strings.ToLower(n.Text) {
	case "first", "":
	case "deep":
		p.source.deep = true
	default:
		p.errs.Add(n.Errorf("write first or deep", "unsupported merge mode: %s", n.Text))
	}
}

// sections names the overrides that the hierarchy leads to: with merge deep all of them,
// otherwise the first.
func (s Source) sections(ctx context.Context, facts map[string]any, inventory *Inventory, errs *yamlpos.Errors) []string {
	r := render.New(ctx, &render.Env{Facts: facts, Inventory: inventory})
	r.Lenient = true
	var found []string
	for _, entry := range s.order {
		key, empty, err := entry.HierarchyKey(r)
		errs.Add(err)
		if _, ok := s.overrides[key]; !ok || empty {
			continue
		}
		if found = append(found, key); !s.deep {
			break
		}
	}
	return found
}
