package catalog

import (
	"cmp"
	"errors"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/graph"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
)

// order writes edges into the entries of a draft and, if they run as a graph, puts them
// in the order of that. The graph is for people, and nil unless they want to see it.
func order(d *draft, edges []graph.Edge, asGraph, show bool) (*graph.Graph, error) {
	if asGraph {
		return orderGraph(d, edges, show)
	}
	var shown *graph.Graph
	if show {
		var err error
		if shown, err = linearGraph(d, edges); err != nil {
			return nil, err
		}
	}
	if len(edges) > 0 {
		graph.Depend(d.entries, edges)
	}
	return shown, nil
}

func orderGraph(d *draft, edges []graph.Edge, show bool) (*graph.Graph, error) {
	vertices := make([]graph.Vertex, len(d.entries))
	for i := range vertices {
		vertices[i] = vertex(&d.entries[i], &d.origins[i])
	}
	graph.SetWithin(vertices, func(i int) int { return graph.FirstWithin(d.entries, i) })
	if show {
		setExchanged(vertices, d)
	}
	g, err := graph.New(vertices, edges)
	if circle, ok := errors.AsType[*graph.CircleError](err); ok {
		err = reference.Circular(circle)
	}
	if err != nil {
		return nil, err
	}
	graph.Depend(d.entries, g.Edges)
	d.rearrange(g.Order)
	return g, nil
}

// vertex returns the vertex of an entry in a graph.
func vertex(e *wire.Entry, o *origin) graph.Vertex {
	v := graph.Vertex{Ref: e.Ref(), At: o.resource.Name.Node}
	if e.Excluded {
		return v
	}
	v.Batch, v.Relations = o.batch, o.relations
	if e.Scope == nil {
		v.Name = e.Type + "#" + e.Name
	}
	return v
}

// rearrange reorders the entries, and everything that refers to them by number.
func (d *draft) rearrange(order []int) {
	var moved []int
	d.entries, moved = graph.Rearrange(d.entries, order)
	d.origins = graph.Permute(d.origins, order)
	for k := range d.notes {
		n := &d.notes[k]
		n.Last = moved[n.Last]
		n.First = n.Last - d.entries[n.Last].Scope.Entries
	}
	for i := range d.origins {
		if shown := d.origins[i].shown; shown != nil {
			shown.renumber(moved)
		}
	}
	slices.SortStableFunc(d.notes, func(a, b Note) int {
		return cmp.Or(a.First-b.First, b.Last-a.Last) // the outer one before those within
	})
}

// linearGraph returns the graph of resources that run in the written order. Edges that lead to earlier entries are in
// the entries already.
func linearGraph(d *draft, edges []graph.Edge) (*graph.Graph, error) {
	vertices := make([]graph.Vertex, len(d.entries))
	edges = slices.Clone(edges)
	for i := range d.origins {
		if refs := d.origins[i].refs; refs != nil {
			for _, e := range refs.resolved {
				e.To = i
				edges = append(edges, e)
			}
		}
	}
	for i := range d.entries {
		e := &d.entries[i]
		vertices[i] = graph.Vertex{Ref: e.Ref(), At: d.origins[i].resource.Name.Node}
		for _, from := range e.Require {
			edges = append(edges, graph.Edge{From: from, To: i, Kind: graph.Require, Why: "require"})
		}
		for _, from := range e.Subscribe {
			edges = append(edges, graph.Edge{From: from, To: i, Kind: graph.Subscribe, Why: "subscribe"})
		}
		for _, from := range e.Awaits {
			edges = append(edges, graph.Edge{From: from, To: i, Kind: graph.Receive, Why: "register"})
		}
	}
	graph.SetWithin(vertices, func(i int) int { return graph.FirstWithin(d.entries, i) })
	setExchanged(vertices, d)
	g, err := graph.New(vertices, edges)
	if err != nil {
		return nil, err
	}
	for i := range d.entries { // only now: resources that run in the order written take no turns
		vertices[i].Name = d.entries[i].Type + "#" + d.entries[i].Name
	}
	return g, nil
}

// setExchanged sets the imports and exports of the vertices of a graph that is shown.
func setExchanged(vertices []graph.Vertex, d *draft) {
	for i := range vertices {
		e := &d.entries[i]
		if e.Excluded || e.Hidden {
			continue
		}
		vertices[i].Exports, vertices[i].On = e.Export, e.On
		for _, one := range d.origins[i].resource.Imports {
			vertices[i].Imports = append(vertices[i].Imports, graph.Import{Property: one.Property, Host: one.Host.Text, From: one.From.Text, At: one.From})
		}
	}
}
