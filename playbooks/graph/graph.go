package graph

import (
	"cmp"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// A Vertex is one resource.
type Vertex struct {
	Ref string        // type#name, or type#alias
	At  *yamlpos.Node // where it is written; nil if that is not known
	// Name is type#name; "" for a vertex that exists only as a target of references. Vertices of one name take turns.
	Name string
	// Within is the number of the vertex that represents the manifest of this one; -1 means none. That vertex comes
	// after all vertices within it, and no others come between them.
	Within int
	Batch  string // vertices with the same batch become neighbours if possible; empty means none
	// Relations are the relations of the resource; none if it has no automatic edges.
	Relations []modules.Relation
	Imports   []Import // values from other hosts
	Exports   []string // values for other hosts
	On        string   // where it runs, if that is another host
}

// Kind is the origin of an edge.
type Kind int

// The kinds of edges.
const (
	Require   Kind = iota + 1 // require, or before at the other end
	Subscribe                 // subscribe, or notify at the other end: it also refreshes
	Receive                   // recv
	Automatic                 // declared by the two resources
	Turn                      // only so that they do not run at once: failure is not passed on
	Part                      // a later part of a block: failure is not passed on
)

// An Edge orders one vertex before another one.
type Edge struct {
	From, To int // From comes first
	Kind     Kind
	Why      string        // "require", "before", "owner"; never ""
	At       *yamlpos.Node // where it is written; nil if it is automatic
	Weak     bool          // automatic, by a name
}

// Automatic reports whether the edge is in no manifest.
func (e *Edge) Automatic() bool { return e.Kind == Automatic || e.Kind == Turn }

// Reason returns the origin of the edge, for people.
func (e *Edge) Reason() string {
	if e.Automatic() {
		return "automatic: " + e.Why
	}
	return e.Why
}

// A Graph is the resources of one host in order.
type Graph struct {
	Vertices []Vertex
	Edges    []Edge // distinct pairs, sorted by To and then From; edges of kind Turn last
	Dropped  []Edge // automatic ones that would have closed a circle
	Order    []int  // the vertices, each after all its dependencies
	Level    []int  // level by vertex: 0 has no dependencies

	refs map[string]int // number of vertices with each reference; nil before the first use
}

// maxEdges bounds the automatic edges of one host.
const maxEdges = 1_000_000

// New orders vertices. explicit are the written edges; duplicates count once. The error is a [CircleError], or about
// the limits.
func New(vertices []Vertex, explicit []Edge) (*Graph, error) {
	g := &Graph{Vertices: vertices}
	b := newBuilder(vertices)
	b.explicit(explicit)
	if err := b.circle(); err != nil {
		return nil, err
	}
	candidates, err := b.candidates()
	if err != nil {
		return nil, err
	}
	g.Dropped = b.automatic(candidates)
	g.Order = b.sort()
	g.Edges = append(b.edges, b.turns(g.Order)...)
	g.Level = b.levels(g.Order)
	slices.SortFunc(g.Edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(turn(a), turn(b)), cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From))
	})
	return g, nil
}

func turn(e Edge) int {
	if e.Kind == Turn {
		return 1
	}
	return 0
}

// builder makes a graph.
type builder struct {
	vertices []Vertex
	depth    []int
	edges    []Edge
	seen     map[[2]int]int // the pair → its number among edges
	// next has, by vertex, the edges to later ones, lifted so that both ends are within the same vertex.
	next [][]lifted
}

// A lifted edge leads to a vertex within the same one.
type lifted struct {
	to, edge int
}

func newBuilder(vertices []Vertex) *builder {
	b := &builder{
		vertices: vertices,
		depth:    make([]int, len(vertices)),
		seen:     map[[2]int]int{},
		next:     make([][]lifted, len(vertices)),
	}
	for i := range vertices {
		for at := vertices[i].Within; at >= 0; at = vertices[at].Within {
			b.depth[i]++
		}
	}
	return b
}

// lift returns the vertices that contain from and to, right below the innermost one that contains both. ok is false if
// one is within the other.
func (b *builder) lift(from, to int) (a, z int, ok bool) {
	a, z = from, to
	for b.depth[a] > b.depth[z] {
		a = b.vertices[a].Within
	}
	for b.depth[z] > b.depth[a] {
		z = b.vertices[z].Within
	}
	if a == z {
		return 0, 0, false
	}
	for b.vertices[a].Within != b.vertices[z].Within {
		a, z = b.vertices[a].Within, b.vertices[z].Within
	}
	return a, z, true
}

// strength orders kinds: a received value is also a dependency, and only Subscribe refreshes.
func strength(k Kind) int {
	switch k {
	case Subscribe:
		return 2
	case Receive:
		return 1
	}
	return 0
}

// add adds an edge. Of several between two vertices the strongest kind counts.
func (b *builder) add(e Edge) {
	pair := [2]int{e.From, e.To}
	if i, twice := b.seen[pair]; twice {
		if known := &b.edges[i]; strength(e.Kind) > strength(known.Kind) {
			*known = e
		}
		return
	}
	a, z, ok := b.lift(e.From, e.To)
	if !ok {
		return
	}
	b.seen[pair] = len(b.edges)
	b.next[a] = append(b.next[a], lifted{z, len(b.edges)})
	b.edges = append(b.edges, e)
}

func (b *builder) explicit(edges []Edge) {
	for _, e := range edges {
		b.add(e)
	}
}
