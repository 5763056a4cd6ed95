package explain

import (
	"slices"

	"github.com/ccm-push/ccm-push/playbooks/graph"
)

// relations returns the resources before and after resource i. Relations of the resource that applies its manifest
// count, too.
func (x *explainer) relations(i int) (before, after []Relation) {
	g := x.rendered.Graph
	before, after = []Relation{}, []Relation{}
	for at := i; at >= 0; at = x.within(at) {
		vertex, through := g.Order[at], ""
		if at != i {
			through = g.Called(vertex)
		}
		for k := range g.Edges {
			switch e := &g.Edges[k]; vertex {
			case e.To:
				before = related(before, x.relation(e, e.From, e.Verb(), through))
			case e.From:
				if e.At == nil && !e.Automatic() && e.Kind != graph.Part {
					continue // handed down to a resource of a nested manifest, whose own edge is among these
				}
				after = related(after, x.relation(e, e.To, e.Mirrored(), through))
			}
		}
	}
	if last := x.last(i); last >= 0 {
		name := g.Called(g.Order[last])
		if !slices.ContainsFunc(before, func(r Relation) bool { return r.Resource == name }) {
			before = append(before, Relation{Resource: name, How: "after", Why: "the order written"})
		}
	}
	return before, after
}

// last returns the resource right before resource i in a play in the written order, or -1.
func (x *explainer) last(i int) int {
	if x.play.Graph() {
		return -1
	}
	for i--; i >= 0 && x.rendered.Resources[i].Entry.Excluded; i-- {
	}
	return i
}

func (x *explainer) relation(e *graph.Edge, other int, how, through string) Relation {
	r := Relation{Resource: x.rendered.Graph.Called(other), How: how, Why: e.Reason(), Through: through}
	if e.At != nil {
		r.At = e.At.Pos()
	}
	return r
}

// related adds a relation. It replaces the same one without a position, which was inherited from the resource that
// declares it.
func related(all []Relation, one Relation) []Relation {
	i := slices.IndexFunc(all, func(r Relation) bool {
		return r.Resource == one.Resource && r.How == one.How && r.At == "" && r.Why == one.Why
	})
	if i < 0 {
		return append(all, one)
	}
	all[i] = one
	return all
}
