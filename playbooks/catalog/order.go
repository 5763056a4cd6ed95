package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/graph"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
	"github.com/ccm-push/ccm-push/templates"
)

// links are the references of an entry that are resolved when all entries are
// there.
type links struct {
	resource *manifest.Resource
	entry    int
	lists    []linkList
	recv     []recvLink
	resolved []graph.Edge // what require and subscribe come to in the order written; To is not set
}

type linkList struct {
	manifest.OrderList
	refs []*yamlpos.Node
}

// A recvLink is a property that is received from a resource of this host.
type recvLink struct {
	property string
	at       *yamlpos.Node // as it is written
}

// ordering is what is known of the order of a catalog under way.
type ordering struct {
	graph    bool
	links    []links
	resolved []graph.Edge       // where somebody wants to see them
	vertices []graph.Vertex     // of a graph, by entry; Within is set at the end
	related  []modules.Relation // of the entry to be added
	batch    string             // likewise
	named    map[string][]int   // type#name and type#alias → entries
}

// link resolves the references of a resource, as far as they lead back where
// resources run in the order written; the others are left for [compilation.order].
func (p *compilation) link(ctx context.Context, r *manifest.Resource, e *modules.Entry, env *templates.Env) links {
	l := links{resource: r}
	for _, list := range r.OrderLists() {
		switch {
		case list.Value == nil:
		case !list.Mirror && !p.ordering.graph:
			into := &e.Require
			if list.Kind == graph.Subscribe {
				into = &e.Subscribe
			}
			for _, ref := range p.refTexts(ctx, list.Value, env) {
				entries, err := p.reference(ref)
				p.errs.Add(err)
				*into = append(*into, entries...)
				for _, from := range entries {
					if p.shown == nil {
						break
					}
					l.resolved = append(l.resolved, graph.Edge{From: from, Kind: list.Kind, Why: list.Key, At: ref})
				}
			}
		default:
			l.lists = append(l.lists, linkList{list, p.refTexts(ctx, list.Value, env)})
		}
	}
	l.recv = p.recvLinks(ctx, r, env)
	for _, one := range r.Imports {
		e.Receive = append(e.Receive, modules.Receive{Property: one.Property, From: -1, Key: one.Key, Sender: one.Ref + " of " + one.Host.Text})
	}
	for _, key := range r.Exports {
		e.Export = append(e.Export, key.Text)
	}
	return l
}

// recvLinks resolves what a resource receives from others of this host.
func (p *compilation) recvLinks(ctx context.Context, r *manifest.Resource, env *templates.Env) []recvLink {
	if r.Recv == nil {
		return nil
	}
	list, err := r.Recv.Resolve(ctx, env)
	if err != nil {
		p.errs.Add(err)
		return nil
	}
	var all []recvLink
	for _, pair := range list.Pairs {
		all = append(all, recvLink{property: r.PropertyName(pair.Key.Text), at: pair.Value})
	}
	return all
}

// meta resolves how the engine treats an entry.
func (p *compilation) meta(ctx context.Context, r *manifest.Resource, e *modules.Entry, env *templates.Env) {
	var n *yamlpos.Node
	if r.Meta != nil {
		resolved, err := r.Meta.Resolve(ctx, env)
		if err != nil {
			p.errs.Add(err)
			return
		}
		n = resolved
	}
	m, err := manifest.DecodeMeta(n)
	p.errs.Add(err)
	e.Retry, e.Delay, e.Timeout, e.Limit, e.Sema = m.Retry, m.Delay, m.Timeout, m.Limit, m.Sema
	e.Hidden, e.Reverse = m.Hidden, m.Reverse
	p.ordering.batch = ""
	if _, ok := r.Type.New().(modules.Batcher); ok && m.AutoGroup {
		p.ordering.batch = r.Type.Name
	}
	p.autoedge = m.AutoEdge && !p.at.noEdges
}

// linked notes the references of an entry that has been added.
func (p *compilation) linked(i int, l links) {
	l.entry = i
	if len(l.lists)+len(l.recv) > 0 {
		p.ordering.links = append(p.ordering.links, l)
	}
	if p.shown != nil {
		for _, e := range l.resolved {
			e.To = i
			p.ordering.resolved = append(p.ordering.resolved, e)
		}
	}
	for _, one := range l.resource.Imports {
		if p.out.Imports == nil {
			p.out.Imports = map[int][]Import{}
		}
		p.out.Imports[i] = append(p.out.Imports[i], Import{Property: one.Property, Host: one.Host.Text, Ref: one.Ref, Key: one.Key})
	}
}

// vertex notes an entry that is added to a graph.
func (p *compilation) vertex(r *manifest.Resource, e *modules.Entry) {
	o := &p.ordering
	v := graph.Vertex{Ref: e.Ref(), At: r.Name.Node}
	if !e.Excluded {
		v.Name, v.Batch = e.Type+"#"+e.Name, o.batch
		if e.Scope != nil {
			v.Name = ""
		}
		if p.autoedge {
			v.Relations = o.related
		}
	}
	o.vertices = append(o.vertices, v)
	o.related, o.batch = nil, ""
}

// order resolves the references that lead to entries added later, and puts the
// entries of a graph in order.
func (p *compilation) order() {
	if len(p.errs) > 0 || !p.ordering.graph && len(p.ordering.links) == 0 && p.shown == nil {
		return
	}
	p.index()
	explicit := p.explicit()
	if len(p.errs) > 0 {
		return
	}
	if !p.ordering.graph {
		p.linear(explicit)
		return
	}
	vertices := p.ordering.vertices
	setWithin(vertices, p.out.Catalog.Entries)
	p.setExchanged(vertices)
	g, err := graph.New(vertices, explicit)
	if circle, ok := errors.AsType[*graph.CircleError](err); ok {
		err = reference.Circular(circle)
	}
	if p.errs.Add(err); err != nil {
		return
	}
	p.out.Catalog.Parallel = p.root.play.Parallel
	if p.shown != nil {
		p.shown.Graph = g
	}
	p.depend(g.Edges)
	p.rearrange(g.Order)
}

// index notes under which names entries are found.
func (p *compilation) index() {
	named := map[string][]int{}
	for i := range p.out.Catalog.Entries {
		e := &p.out.Catalog.Entries[i]
		named[e.Type+"#"+e.Name] = append(named[e.Type+"#"+e.Name], i)
		if e.Alias != "" && e.Alias != e.Name {
			named[e.Type+"#"+e.Alias] = append(named[e.Type+"#"+e.Alias], i)
		}
	}
	p.ordering.named = named
}

// explicit gives the edges that references make. Those of require and subscribe are
// resolved already where resources run in the order written.
func (p *compilation) explicit() []graph.Edge {
	var all []graph.Edge
	for _, l := range p.ordering.links {
		for _, list := range l.lists {
			for _, ref := range list.refs {
				all = append(all, p.edges(l, list.OrderList, ref)...)
			}
		}
		for _, one := range l.recv {
			all = append(all, p.receive(l, one)...)
		}
	}
	return all
}

// edges resolves one reference.
func (p *compilation) edges(l links, list manifest.OrderList, ref *yamlpos.Node) []graph.Edge {
	targets, err := p.anywhere(ref)
	if err == nil && len(targets) > 0 && list.Mirror && list.Kind == graph.Subscribe {
		err = p.notifies(ref, targets[0])
	}
	if err != nil {
		p.errs.Add(err)
		return nil
	}
	var all []graph.Edge
	earlier := -1
	for _, target := range targets {
		e := graph.Edge{From: target, To: l.entry, Kind: list.Kind, Why: list.Key, At: ref}
		if list.Mirror {
			e.From, e.To = l.entry, target
		}
		switch {
		case p.contains(e.From, e.To), p.contains(e.To, e.From):
			p.errs.Add(ref.Errorf("remove the reference", "%s and %s are parts of each other", ref.Text, p.out.Catalog.Entries[l.entry].Ref()))
		case e.From == e.To && len(targets) == 1:
			p.errs.Add(ref.Errorf("", "%s refers to itself", ref.Text))
		case e.From == e.To:
		case !p.ordering.graph && e.From > e.To:
			earlier = target
		default:
			all = append(all, e)
		}
	}
	if len(all) == 0 && earlier >= 0 {
		p.errs.Add(ref.Errorf(fmt.Sprintf("resources run in the order written: move %s above it, or write strategy: graph at the play", p.out.Catalog.Entries[l.entry].Ref()),
			"%s stands earlier", ref.Text))
	}
	return all
}

// notifies checks that what shall be refreshed can be.
func (p *compilation) notifies(ref *yamlpos.Node, target int) error {
	typeName := p.out.Catalog.Entries[target].Type
	t, ok := p.root.play.Type(typeName)
	if !ok {
		return nil
	}
	return reference.CheckNotified(ref, t)
}

// anywhere finds all entries that are called so. None is no error if what is called
// so is not in the catalog.
func (p *compilation) anywhere(ref *yamlpos.Node) ([]int, error) {
	if targets := p.ordering.named[ref.Text]; targets != nil {
		return targets, nil
	}
	if _, err := p.reference(ref); err != nil {
		e := *err.(*yamlpos.Error)
		if _, _, malformed := reference.Parse(ref); malformed == nil {
			e.Msg = fmt.Sprintf("no resource is called %s on this host", ref.Text)
		}
		return nil, &e
	}
	return nil, nil
}

// contains reports whether an entry is one of those that another one sums up.
func (p *compilation) contains(outer, inner int) bool {
	scope := p.out.Catalog.Entries[outer].Scope
	return scope != nil && inner < outer && inner >= outer-scope.Entries
}

// receive resolves what an entry receives from another one of this host.
func (p *compilation) receive(l links, one recvLink) []graph.Edge {
	ref, key, err := p.root.play.SplitSent(one.at, func(ref string) bool { return p.ordering.named[ref] != nil })
	if err != nil {
		p.errs.Add(err)
		return nil
	}
	name := *one.at
	name.Text = ref
	targets, err := p.anywhere(&name)
	targets = slices.DeleteFunc(slices.Clone(targets), func(i int) bool { return p.out.Catalog.Entries[i].Excluded })
	if !p.ordering.graph { // the last one called so, as for require
		targets = slices.DeleteFunc(targets, func(i int) bool { return i >= l.entry })
		targets = targets[max(0, len(targets)-1):]
	}
	switch {
	case err != nil:
	case len(targets) == 0:
		err = one.at.Errorf("what is received must be sent in the same run, by an earlier resource where they run in the order written",
			"%s is not there on this host, or is left out by control or tags", ref)
	case len(targets) > 1:
		err = one.at.Errorf("give the one that is meant an alias of its own", "%d resources are called %s", len(targets), ref)
	case targets[0] == l.entry:
		err = one.at.Errorf("", "%s receives from itself", ref)
	case p.out.Catalog.Entries[targets[0]].Scope != nil:
		err = one.at.Errorf("receive from the resources of that manifest", "%s applies a manifest, and has no values of its own", ref)
	case p.out.Catalog.Entries[targets[0]].Hidden:
		err = one.at.Errorf("remove hidden there", "%s is hidden, so that it sends no %s", ref, key)
	}
	if err != nil {
		p.errs.Add(err)
		return nil
	}
	e := &p.out.Catalog.Entries[l.entry]
	e.Receive = append(e.Receive, modules.Receive{Property: one.property, From: targets[0], Key: key})
	return []graph.Edge{{From: targets[0], To: l.entry, Kind: graph.Receive, Why: "recv", At: one.at}}
}

// linear adds references that lead to later entries where resources run in the
// order written.
func (p *compilation) linear(explicit []graph.Edge) {
	if p.shown != nil {
		p.showLinear(explicit)
	}
	p.depend(explicit)
}

// depend writes edges into the entries. What a manifest as a whole waits for, each
// of its resources does.
func (p *compilation) depend(edges []graph.Edge) {
	entries := p.out.Catalog.Entries
	touched := map[int]bool{}
	for _, e := range edges {
		first := e.To
		if scope := entries[e.To].Scope; scope != nil {
			first -= scope.Entries
		}
		for to := first; to <= e.To; to++ {
			touched[to] = true
			switch one := &entries[to]; e.Kind {
			case graph.Subscribe:
				one.Subscribe = append(one.Subscribe, e.From)
			case graph.Turn:
				one.After = append(one.After, e.From)
			default:
				one.Require = append(one.Require, e.From)
			}
		}
	}
	for i := range touched {
		e := &entries[i]
		e.Require, e.Subscribe, e.After = distinct(e.Require), distinct(e.Subscribe), distinct(e.After)
	}
}

// rearrange puts the entries, and all that counts them, in another order.
func (p *compilation) rearrange(order []int) {
	at := make([]int, len(order)) // by the number before
	for i, before := range order {
		at[before] = i
	}
	moved := func(list []int) {
		for k, i := range list {
			list[k] = at[i]
		}
		slices.Sort(list)
	}
	c := &p.out.Catalog
	c.Entries = permuted(c.Entries, order)
	for i := range c.Entries {
		e := &c.Entries[i]
		moved(e.Require)
		moved(e.Subscribe)
		moved(e.After)
		for k := range e.Receive {
			if from := &e.Receive[k].From; *from >= 0 {
				*from = at[*from]
			}
		}
	}
	p.out.common = permuted(p.out.common, order)
	if p.out.Imports != nil {
		imports := map[int][]Import{}
		for i, list := range p.out.Imports {
			imports[at[i]] = list
		}
		p.out.Imports = imports
	}
	for k := range p.out.Notes {
		n := &p.out.Notes[k]
		n.Last = at[n.Last]
		n.First = n.Last - c.Entries[n.Last].Scope.Entries
	}
	slices.SortStableFunc(p.out.Notes, func(a, b Note) int {
		if a.First != b.First {
			return a.First - b.First
		}
		return b.Last - a.Last // the outer one
	})
	if p.shown != nil {
		p.shown.Resources = permuted(p.shown.Resources, order)
	}
}

func permuted[V any](list []V, order []int) []V {
	all := make([]V, len(order))
	for i, before := range order {
		all[i] = list[before]
	}
	return all
}

// setWithin says which vertices stand for the manifests that others are of.
func setWithin(vertices []graph.Vertex, entries []modules.Entry) {
	for i := range vertices {
		vertices[i].Within = -1
	}
	for i := range entries { // the innermost comes first
		scope := entries[i].Scope
		if scope == nil {
			continue
		}
		for j := i - 1; j >= i-scope.Entries; j-- {
			if vertices[j].Within < 0 {
				vertices[j].Within = i
			}
		}
	}
}

// setExchanged gives the vertices of a graph that is shown their imports and exports.
func (p *compilation) setExchanged(vertices []graph.Vertex) {
	if p.shown == nil {
		return
	}
	for i := range vertices {
		e := &p.out.Catalog.Entries[i]
		if e.Excluded || e.Hidden {
			continue
		}
		vertices[i].Exports = e.Export
		for _, one := range p.shown.Resources[i].Imports {
			vertices[i].Imports = append(vertices[i].Imports, graph.Import{Property: one.Property, Host: one.Host.Text, From: one.From.Text, At: one.From})
		}
	}
}

// showLinear makes the graph of resources that run in the order written.
func (p *compilation) showLinear(explicit []graph.Edge) {
	entries := p.out.Catalog.Entries
	vertices := make([]graph.Vertex, len(entries))
	edges := slices.Concat(explicit, p.ordering.resolved)
	for i := range entries {
		e := &entries[i]
		vertices[i] = graph.Vertex{Ref: e.Ref(), At: p.shown.Resources[i].Name.Node}
		for _, from := range e.Require {
			edges = append(edges, graph.Edge{From: from, To: i, Kind: graph.Require, Why: "require"})
		}
		for _, from := range e.Subscribe {
			edges = append(edges, graph.Edge{From: from, To: i, Kind: graph.Subscribe, Why: "subscribe"})
		}
	}
	setWithin(vertices, entries)
	p.setExchanged(vertices)
	g, err := graph.New(vertices, edges)
	p.errs.Add(err)
	for i := range entries { // only now: here nobody takes turns
		vertices[i].Name = entries[i].Type + "#" + entries[i].Name
	}
	p.shown.Graph = g
}
