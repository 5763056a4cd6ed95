package templates

import (
	"context"
	"maps"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Source is where data comes from: a map, and overrides of it that are chosen
// by a hierarchy of keys, which depend on the facts of a host. The zero Source
// has no data.
type Source struct {
	data      document
	overrides map[string]document
	order     []*Text
	deep      bool // merge every section that is found, not just the first
	mentions  mentions
}

// A document is a tree of values whose strings may hold expressions.
type document struct {
	node  *yamlpos.Node // nil for none
	texts map[*yamlpos.Node]*Text
}

// Parts are what a source is read from. Each of them may be nil.
type Parts struct {
	Data      *yamlpos.Node   // a map
	Files     []*yamlpos.Node // of vars_files, maps: their keys replace those of data, and later ones win
	Hierarchy *yamlpos.Node   // order, a list of strings, by default ["default"]; merge, first or deep
	Overrides *yamlpos.Node   // a map of maps
}

// ParseSource reads the parts of a source. Expressions in them see facts only.
// The error is [yamlpos.Errors].
func ParseSource(parts Parts) (Source, error) {
	p := &sourceParser{}
	p.data(parts.Data)
	p.hierarchy(parts.Hierarchy)
	p.overrides(parts.Overrides)
	if err := p.errs.Err(); err != nil {
		return Source{}, err
	}
	return p.source, nil
}

// At is the position of the text of a scalar.
func At(n *yamlpos.Node) Position {
	pos := Position{File: n.File, Line: n.Line, Column: n.Column}
	if n.Quoted && !n.Computed {
		pos.Column++ // the opening quote
	}
	return pos
}

type sourceParser struct {
	source Source
	errs   yamlpos.Errors
}

// given reports whether a part is there at all: null is not.
func given(n *yamlpos.Node) bool { return n != nil && (n.Kind != yamlpos.Scalar || n.Value != nil) }

func (p *sourceParser) data(n *yamlpos.Node) {
	if given(n) {
		p.source.data = p.document(n, "data")
	}
}

func (p *sourceParser) overrides(n *yamlpos.Node) {
	if !given(n) {
		return
	}
	if n.Kind != yamlpos.Map {
		p.errs.Add(n.Errorf("write name: {key: value}", "overrides must be a map of maps, not %s", n.Describe()))
		return
	}
	p.source.overrides = make(map[string]document, len(n.Pairs))
	for _, pair := range n.Pairs {
		if given(pair.Value) {
			p.source.overrides[pair.Key.Text] = p.document(pair.Value, "overrides."+pair.Key.Text)
		}
	}
}

func (p *sourceParser) document(n *yamlpos.Node, name string) document {
	if n.Kind != yamlpos.Map {
		p.errs.Add(n.Errorf("write key: value", "%s must be a map, not %s", name, n.Describe()))
		return document{}
	}
	d := document{node: n, texts: map[*yamlpos.Node]*Text{}}
	p.parse(n, d.texts)
	return d
}

func (p *sourceParser) parse(n *yamlpos.Node, texts map[*yamlpos.Node]*Text) {
	for _, item := range n.Items {
		p.parse(item, texts)
	}
	for _, pair := range n.Pairs {
		p.parse(pair.Value, texts)
	}
	if s, ok := n.Value.(string); ok && texts[n] == nil && HasExpr(s) {
		texts[n] = p.text(n, s)
	}
}

func (p *sourceParser) text(n *yamlpos.Node, s string) *Text {
	t, err := Parse(s, At(n))
	if err != nil {
		p.errs.Add(err)
		return nil
	}
	p.source.mentions.add(&t.mentions)
	return t
}

func (p *sourceParser) hierarchy(n *yamlpos.Node) {
	if !given(n) {
		p.source.order = []*Text{{parts: []part{{literal: "default"}}}}
		return
	}
	if n.Kind != yamlpos.Map {
		p.errs.Add(n.Errorf("write order: [...] and merge: first or deep", "hierarchy must be a map, not %s", n.Describe()))
		return
	}
	for _, pair := range n.Pairs {
		switch pair.Key.Text {
		case "order", "merge":
		default:
			p.errs.Add(pair.Key.Errorf("it has order and merge", "unknown key %q in hierarchy", pair.Key.Text))
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
		p.errs.Add(order.Errorf(`write order: ["os:{{ lookup('facts.host.info.os') }}", default]`, "hierarchy.order must be a list"))
		return
	}
	for _, item := range order.Items {
		s, ok := item.Value.(string)
		if !ok {
			p.errs.Add(item.Errorf("put it in quotes", "hierarchy.order must contain only strings"))
			continue
		}
		p.source.order = append(p.source.order, p.text(item, s))
	}
}

func (p *sourceParser) merge(n *yamlpos.Node) {
	if !given(n) {
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

// Facts tells which facts the source can read; see [Text.Facts].
func (s Source) Facts() (paths []string, all bool) { return s.mentions.follow(nil).result() }

// Resolve gives the data for a host with these facts: plain values (see [Env])
// of the caller's own. A key of the hierarchy of which every expression is empty
// is skipped. With merge first, the keys of the first section found replace
// those of the data; with deep every section found is merged over it by
// [DeepMerge], in the order of the hierarchy. The error is [yamlpos.Errors].
func (s Source) Resolve(ctx context.Context, facts map[string]any) (map[string]any, error) {
	if facts == nil {
		facts = map[string]any{}
	}
	var errs yamlpos.Errors
	r := &run{ctx: ctx, env: &Env{Facts: facts}}
	data := s.data.resolve(r, &errs)
	for _, section := range s.sections(ctx, facts, &errs) {
		over := section.resolve(r, &errs)
		if !s.deep {
			maps.Copy(data, over)
			break
		}
		data = DeepMerge(data, over)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return data, nil
}

// sections are the overrides that the hierarchy leads to.
func (s Source) sections(ctx context.Context, facts map[string]any, errs *yamlpos.Errors) []document {
	r := &run{ctx: ctx, env: &Env{Facts: facts, lenient: true}}
	var found []document
	for _, entry := range s.order {
		key, empty, err := entry.key(r)
		errs.Add(err)
		if section, ok := s.overrides[key]; ok && !empty {
			found = append(found, section)
		}
	}
	return found
}

// key renders an entry of a hierarchy. It is empty if it has expressions and
// all of them are.
func (t *Text) key(r *run) (key string, empty bool, err error) {
	var b strings.Builder
	expressions, filled := false, false
	for _, p := range t.parts {
		s := p.literal
		if p.expr != nil {
			if s, err = p.expr.text(r); err != nil {
				return "", true, err
			}
			expressions, filled = true, filled || s != ""
		}
		b.WriteString(s)
	}
	return b.String(), expressions && !filled, nil
}

// resolve gives the plain values of a document; a document that is not there is
// an empty map.
func (d document) resolve(r *run, errs *yamlpos.Errors) map[string]any {
	if d.node == nil {
		return map[string]any{}
	}
	return d.value(d.node, r, errs).(map[string]any)
}

func (d document) value(n *yamlpos.Node, r *run, errs *yamlpos.Errors) any {
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
		return wholeNumber(n.Value)
	}
	v, err := text.eval(r)
	errs.Add(err)
	return v
}
