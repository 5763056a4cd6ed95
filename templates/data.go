package templates

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/expression"
	"github.com/ccm-push/ccm-push/templates/render"
)

// Source is the source of data: a map, files with more, and overrides of both. A hierarchy of keys, which depend on the
// facts of a host, chooses the overrides. The zero Source has no data.
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
	Files     []*yamlpos.Node // maps from vars_files: their keys replace keys of data, and later ones win
	Hierarchy *yamlpos.Node   // order, a list of strings, by default ["default"]; merge, first or deep
	Overrides *yamlpos.Node   // a map of maps
}

// ParseSource reads the parts of a source. Expressions in its values can read the facts, the inventory and the data of
// all sources together; expressions in the hierarchy can read the facts and the inventory only. The error is
// [yamlpos.Errors].
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

// Inputs returns the inputs of the source's values.
func (s Source) Inputs() Inputs { return s.reads.WithoutFiles() }

// Keys returns the keys that the source may set.
func (s Source) Keys() (keys []string) {
	for _, d := range s.documents() {
		if d.node != nil {
			for _, pair := range d.node.Pairs {
				keys = append(keys, pair.Key.Text)
			}
		}
	}
	return keys
}

// documents returns all parts of the source that set keys.
func (s Source) documents() []document {
	return append(append(slices.Clone(s.files), s.data), slices.Collect(maps.Values(s.overrides))...)
}

// NamesItem reports whether a value names the element of an each.
func (s Source) NamesItem() bool {
	return slices.ContainsFunc(s.documents(), func(d document) bool { return d.item })
}

// EachExpression visits the texts of the source, with their inputs.
func (s Source) EachExpression(visit func(at *yamlpos.Node, reads Inputs)) {
	for _, d := range s.documents() {
		for n, text := range d.texts {
			visit(n, d.known.of(text))
		}
	}
}

// Layers returns the data for a host with these facts, lowest first: "data", a layer for each of vars_files, and one
// for each section of overrides that the hierarchy selects. A key of the hierarchy is skipped if all its expressions
// are empty. With merge first only the first section that is found counts, and its keys completely replace others; with
// deep every section is merged over the lower ones, in the order of the hierarchy. The caller owns the values; [Settle]
// evaluates the expressions among them. The error is [yamlpos.Errors].
func (s Source) Layers(ctx context.Context, facts map[string]any, inventory *Inventory) ([]Layer, error) {
	if facts == nil {
		facts = map[string]any{}
	}
	var errs yamlpos.Errors
	var layers []Layer
	add := func(name string, d document, deep bool) {
		if d.node != nil {
			layers = append(layers, d.layer(name, deep))
		}
	}
	add("data", s.data, false)
	for _, f := range s.files {
		add("vars_files "+f.node.File, f, false)
	}
	for _, key := range s.sections(ctx, facts, inventory, &errs) {
		add("overrides "+key, s.overrides[key], s.deep)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return layers, nil
}

// Resolve returns the result of [Settle] for the layers of the source.
func (s Source) Resolve(ctx context.Context, facts map[string]any) (map[string]any, error) {
	layers, err := s.Layers(ctx, facts, nil)
	if err != nil {
		return nil, err
	}
	return Settle(ctx, facts, nil, layers, nil)
}

// ParseLayer reads the expressions in a layer of plain values, and returns a source with only this layer. Unlike
// elsewhere a text is only an expression if it contains {{, since passwords may contain ${. The error is
// [yamlpos.Errors].
func ParseLayer(l Layer) (Source, error) {
	n := l.Node
	if n == nil { // key=value
		n = &yamlpos.Node{Kind: yamlpos.Map}
		for _, key := range render.SortedKeys(l.Values) {
			at := &yamlpos.Node{File: l.Name + " " + key, Line: 1, Column: 1}
			n.Pairs = append(n.Pairs, yamlpos.Pair{Key: yamlpos.From(at, key), Value: yamlpos.From(at, l.Values[key])})
		}
	}
	p := &sourceParser{only: "{{"}
	d := p.document(n, l.Name)
	d.origin = &l
	p.source.data = d
	if err := p.errs.Err(); err != nil {
		return Source{}, err
	}
	return p.source, nil
}

// ParseVars reads a map of data that a part of a play sets for itself. name is the name of its layer. Unlike other data its
// expressions can read the results of resources. open reports whether a scalar is an expression, and read compiles it.
// The error is [yamlpos.Errors].
func ParseVars(n *yamlpos.Node, name string, open func(*yamlpos.Node) bool, read func(*yamlpos.Node) (*Text, error)) (Source, error) {
	p := &sourceParser{open: open, read: read}
	d := p.document(n, `"vars"`)
	d.origin = &Layer{Name: name, Node: n}
	if d.known != nil {
		d.known.results = true
	}
	p.source.data = d
	if err := p.errs.Err(); err != nil {
		return Source{}, err
	}
	return p.source, nil
}

type sourceParser struct {
	source Source
	errs   yamlpos.Errors
	only   string                             // text that every expression contains
	open   func(*yamlpos.Node) bool           // nil for texts as they are in files
	read   func(*yamlpos.Node) (*Text, error) // set with open
}

// given reports whether a part is there at all: null is not.
func given(n *yamlpos.Node) bool {
	return n != nil && (n.Kind != yamlpos.Scalar || n.Value != nil)
}

func (p *sourceParser) data(n *yamlpos.Node) {
	if given(n) {
		p.source.data = p.document(n, `"data"`)
	}
}

func (p *sourceParser) files(nodes []*yamlpos.Node) {
	for _, n := range nodes {
		if given(n) {
			p.source.files = append(p.source.files, p.document(n, `a file of "vars_files"`))
		}
	}
}

func (p *sourceParser) overrides(n *yamlpos.Node) {
	if !given(n) {
		return
	}
	if n.Kind != yamlpos.Map {
		p.errs.Add(n.Errorf("write name: {key: value}", `"overrides" must be a map of maps, not %s`, n.Describe()))
		return
	}
	p.source.overrides = make(map[string]document, len(n.Pairs))
	for _, pair := range n.Pairs {
		if given(pair.Value) {
			p.source.overrides[pair.Key.Text] = p.document(pair.Value, `"overrides.`+pair.Key.Text+`"`)
		}
	}
}

// A written is a text that is evaluated for a host.
type written interface {
	Settle(r *render.Run) (any, error)
	Reads() *render.Reads
	FromHost(taint render.Taint) bool
}

// A document is a tree of values whose strings may hold expressions.
type document struct {
	node   *yamlpos.Node // a map; nil for none
	texts  map[*yamlpos.Node]written
	known  *textInputs            // inputs of the texts
	item   bool                   // set if a text names the element of an each
	unread func(path string) bool // set for variables: reports paths that no play can read; nil if all are read
	origin *Layer                 // layer from which [ParseLayer] made it; else nil
}

// document parses the expressions of a map; name is its name in errors, a key in quotes.
func (p *sourceParser) document(n *yamlpos.Node, name string) document {
	if n.Kind != yamlpos.Map {
		p.errs.Add(n.Errorf("write key: value", "%s must be a map, not %s", name, n.Describe()))
		return document{}
	}
	d := document{node: n, texts: map[*yamlpos.Node]written{}, known: &textInputs{}}
	p.parse(n, d.texts)
	for _, text := range d.texts {
		d.item = d.item || text.Reads().NamesItem()
	}
	return d
}

func (p *sourceParser) parse(n *yamlpos.Node, texts map[*yamlpos.Node]written) {
	for _, item := range n.Items {
		p.parse(item, texts)
	}
	for _, pair := range n.Pairs {
		p.parse(pair.Value, texts)
	}
	if n.CanOpen() {
		texts[n] = sealedText{n}
	}
	if p.open != nil {
		if n.Kind == yamlpos.Scalar && p.open(n) {
			if text := p.text(n, n.Text); text != nil {
				texts[n] = text
			}
		}
		return
	}
	if s, ok := n.Value.(string); ok && texts[n] == nil && strings.Contains(s, p.only) && expression.HasExpr(s) && !n.Plain {
		if text := p.text(n, s); text != nil {
			texts[n] = text
		}
	}
}

func (p *sourceParser) text(n *yamlpos.Node, s string) *expression.Text {
	read := p.read
	if read == nil {
		read = func(n *yamlpos.Node) (*Text, error) { return Parse(s, diag.PositionOf(n)) }
	}
	t, err := read(n)
	if err != nil {
		p.errs.Add(err)
		return nil
	}
	p.source.reads.Add(t.Reads())
	return t
}

// layer returns the values of a document for one host.
func (d document) layer(name string, deep bool) Layer {
	l := Layer{Name: name, Node: d.node, Deep: deep}
	if d.origin != nil {
		l = *d.origin
	}
	if l.Values == nil || len(d.texts) > 0 {
		l.Values, l.pending = d.value(d.node, "").(map[string]any), len(d.texts) > 0
	}
	l.item = d.item
	return l
}

func (d document) value(n *yamlpos.Node, path string) any {
	below := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	switch n.Kind {
	case yamlpos.Map:
		m := make(map[string]any, len(n.Pairs))
		for _, pair := range n.Pairs {
			m[pair.Key.Text] = d.value(pair.Value, below(pair.Key.Text))
		}
		return m
	case yamlpos.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = d.value(item, below(strconv.Itoa(i)))
		}
		return list
	}
	if text := d.texts[n]; text != nil {
		return &deferred{text: text, node: n, path: path, unread: d.unread, known: d.known}
	}
	return render.WholeNumber(n.Value)
}

// KeysFromHost returns the keys of the data whose values are made from facts, for [Taint], if several sources are
// merged. known are such keys from elsewhere. A key is listed even if another layer replaces it for a host.
func KeysFromHost(known map[string]bool, sources ...Source) map[string]bool {
	return SpreadTaint(Taint{Data: known}, sources...)
}

// SpreadTaint is [KeysFromHost] for a part of a play where facts have also made other values.
func SpreadTaint(known Taint, sources ...Source) map[string]bool {
	keys := maps.Clone(known.Data)
	if keys == nil {
		keys = map[string]bool{}
	}
	known.Data = keys
	for before := -1; before < len(keys); { // data that is made of such data is made of facts, too
		before = len(keys)
		for _, s := range sources {
			s.fromHost(known)
		}
	}
	return keys
}

// fromHost adds the keys that are made of facts, or of tainted values, to the tainted keys.
func (s Source) fromHost(taint render.Taint) {
	keys := taint.Data
	for _, d := range s.documents() {
		if d.node == nil || len(d.texts) == 0 {
			continue
		}
		for _, pair := range d.node.Pairs {
			if !keys[pair.Key.Text] && d.fromHost(pair.Value, taint) {
				keys[pair.Key.Text] = true
			}
		}
	}
}

func (d document) fromHost(n *yamlpos.Node, taint render.Taint) bool {
	if text := d.texts[n]; text != nil {
		return text.FromHost(taint)
	}
	return slices.ContainsFunc(n.Items, func(item *yamlpos.Node) bool { return d.fromHost(item, taint) }) ||
		slices.ContainsFunc(n.Pairs, func(p yamlpos.Pair) bool { return d.fromHost(p.Value, taint) })
}
