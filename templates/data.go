package templates

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/expression"
	"github.com/ccm-push/ccm-push/templates/render"
)

// Source is where data comes from: a map, files with more, and overrides of both. A
// hierarchy of keys, which depend on the facts of a host, chooses the overrides. The zero
// Source has no data.
type Source struct {
	data        document
	files       []document
	overrides   map[string]document
	order       []*expression.Text
	deep        bool // merge every section that is found, not just the first
	annotations annotations
	reads       render.Reads
}

// Parts are the parts that a source is read from. Each of them may be nil.
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
	p.files(parts.Files)
	p.hierarchy(parts.Hierarchy)
	p.overrides(parts.Overrides)
	p.annotations(parts)
	if err := p.errs.Err(); err != nil {
		return Source{}, err
	}
	return p.source, nil
}

// Facts lists the facts that the source can read; see [expression.Text.Facts].
func (s Source) Facts() (paths []string, all bool) { return s.reads.Follow(nil).Result() }

// Layers gives the data for a host with these facts, low to high: "data", a
// layer for each of vars_files, and one for each section of overrides that the
// hierarchy leads to. A key of the hierarchy of which every expression is empty
// is skipped. With merge first only the first section that is found counts, and
// its keys replace others whole; with deep every section is merged over what is
// below it, in the order of the hierarchy. Values are the caller's own. The
// error is [yamlpos.Errors].
func (s Source) Layers(ctx context.Context, facts map[string]any) ([]Layer, error) {
	if facts == nil {
		facts = map[string]any{}
	}
	var errs yamlpos.Errors
	var layers []Layer
	r := render.New(ctx, &render.Env{Facts: facts})
	add := func(name string, d document, deep bool) {
		if d.node != nil {
			layers = append(layers, Layer{Name: name, Values: d.resolve(r, &errs), Node: d.node, Deep: deep})
		}
	}
	add("data", s.data, false)
	for _, f := range s.files {
		add("vars_files "+f.node.File, f, false)
	}
	for _, key := range s.sections(ctx, facts, &errs) {
		add("overrides "+key, s.overrides[key], s.deep)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return layers, nil
}

// Resolve is [Merge] of the layers of the source.
func (s Source) Resolve(ctx context.Context, facts map[string]any) (map[string]any, error) {
	layers, err := s.Layers(ctx, facts)
	if err != nil {
		return nil, err
	}
	return Merge(layers), nil
}

type sourceParser struct {
	source Source
	errs   yamlpos.Errors
}

// given reports whether a part is there at all: null is not.
func given(n *yamlpos.Node) bool {
	return n != nil && (n.Kind != yamlpos.Scalar || n.Value != nil)
}

func (p *sourceParser) data(n *yamlpos.Node) {
	if given(n) {
		p.source.data = p.document(n, "data")
	}
}

func (p *sourceParser) files(nodes []*yamlpos.Node) {
	for _, n := range nodes {
		if given(n) {
			p.source.files = append(p.source.files, p.document(n, "a file of vars_files"))
		}
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
	t, err := Parse(s, diag.PositionOf(n))
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
		return render.WholeNumber(n.Value)
	}
	v, err := text.EvalIn(r)
	errs.Add(err)
	return v
}

// FromHost gives the keys of the data whose values are made of facts, for [Taint]. A key
// is listed even if another layer replaces it for a host.
func (s Source) FromHost() map[string]bool {
	keys := map[string]bool{}
	documents := append(slices.Clone(s.files), s.data)
	for _, d := range s.overrides {
		documents = append(documents, d)
	}
	for _, d := range documents {
		if d.node == nil {
			continue
		}
		for _, pair := range d.node.Pairs {
			if d.fromHost(pair.Value) {
				keys[pair.Key.Text] = true
			}
		}
	}
	return keys
}

func (d document) fromHost(n *yamlpos.Node) bool {
	if text := d.texts[n]; text != nil {
		return text.FromHost(render.Taint{})
	}
	return slices.ContainsFunc(n.Items, d.fromHost) ||
		slices.ContainsFunc(n.Pairs, func(p yamlpos.Pair) bool { return d.fromHost(p.Value) })
}
