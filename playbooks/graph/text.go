package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// A Drawing is a graph with its heading.
type Drawing struct {
	*Graph
	Title    string
	InOrder  bool // the resources run in the order written, one after the other
	Parallel int  // resources at once
}

// heading describes how the resources run.
func (d *Drawing) heading() string {
	count := fmt.Sprintf("%d resources", len(d.Vertices))
	if len(d.Vertices) == 1 {
		count = "1 resource"
	}
	if d.InOrder {
		return fmt.Sprintf("%s: %s, in the order written", d.Title, count)
	}
	levels := 0
	for _, level := range d.Level {
		levels = max(levels, level+1)
	}
	return fmt.Sprintf("%s: %s as a graph of depth %d, %d at once", d.Title, count, levels, max(1, d.Parallel))
}

// before returns, by vertex, the edges that lead to it.
func (g *Graph) before() [][]Edge {
	all := make([][]Edge, len(g.Vertices))
	for _, e := range g.Edges {
		all[e.To] = append(all[e.To], e)
	}
	return all
}

// Text prints the graph level by level. Resources of one level do not depend on each other.
func (d *Drawing) Text() string {
	var b strings.Builder
	b.WriteString(printable.Line(d.heading()) + "\n")
	before := d.before()
	rank := d.ranks()
	order := slices.Clone(d.Order)
	if !d.InOrder {
		slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(d.Level[x], d.Level[y]) })
	}
	last := -1
	for _, i := range order {
		if !d.InOrder && d.Level[i] != last {
			last = d.Level[i]
			fmt.Fprintf(&b, "\n%d\n", last+1)
		}
		fmt.Fprintf(&b, "  %s%s\n", d.name(i), d.place(i))
		for _, line := range d.Vertices[i].Exchanged(false) {
			b.WriteString("    " + line + "\n")
		}
		slices.SortFunc(before[i], func(x, y Edge) int { return cmp.Compare(rank[x.From], rank[y.From]) })
		for _, e := range before[i] {
			fmt.Fprintf(&b, "    %s %s (%s)\n", e.Verb(), d.name(e.From), printable.Line(e.Reason()))
		}
	}
	b.WriteString(d.dropped(d.Dropped))
	return b.String()
}

// ranks returns the place of each vertex in the order.
func (g *Graph) ranks() []int {
	rank := make([]int, len(g.Vertices))
	for place, i := range g.Order {
		rank[i] = place
	}
	return rank
}

// Called returns the name of a vertex for people: its reference, or its name if several have that reference, as the
// elements of an each with one alias do.
func (g *Graph) Called(i int) string {
	if v := &g.Vertices[i]; v.Name == "" || !g.shared(v.Ref) {
		return v.Ref
	}
	return g.Vertices[i].Name
}

func (g *Graph) name(i int) string { return printable.Line(g.Called(i)) }

// shared reports whether several vertices have a reference.
func (g *Graph) shared(ref string) bool {
	if g.refs == nil {
		g.refs = map[string]int{}
		for i := range g.Vertices {
			g.refs[g.Vertices[i].Ref]++
		}
	}
	return g.refs[ref] > 1
}

// place names the manifest of a vertex, if that is not the play itself.
func (g *Graph) place(i int) string {
	if w := g.Vertices[i].Within; w >= 0 {
		return ", within " + g.name(w)
	}
	return ""
}

// Verb returns the verb of an edge for its later vertex.
func (e *Edge) Verb() string {
	switch e.Kind {
	case Subscribe:
		return "after and refreshed by"
	case Receive:
		return "receives from"
	case Turn:
		return "not together with"
	}
	return "after"
}

func (g *Graph) dropped(edges []Edge) string {
	if len(edges) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nomitted, because it would close a circle:\n")
	for _, e := range edges {
		fmt.Fprintf(&b, "  %s after %s (%s)\n", g.name(e.To), g.name(e.From), printable.Line(e.Reason()))
	}
	return b.String()
}

// Find returns the vertices with a reference: type#name or type#alias.
func (g *Graph) Find(ref string) []int {
	var all []int
	for i := range g.Vertices {
		if v := &g.Vertices[i]; v.Ref == ref || v.Name == ref {
			all = append(all, i)
		}
	}
	return all
}

// Why prints all edges of one vertex, and where they are written.
func (d *Drawing) Why(i int) string {
	var b strings.Builder
	b.WriteString(d.name(i) + d.place(i))
	if at := d.Vertices[i].At; at != nil {
		b.WriteString(", " + printable.Line(at.Pos()))
	}
	b.WriteByte('\n')
	exchanged := d.Vertices[i].Exchanged(true)
	for _, line := range exchanged {
		b.WriteString("  " + line + "\n")
	}
	none := len(exchanged) == 0
	for _, e := range d.Edges {
		switch i {
		case e.To:
			fmt.Fprintf(&b, "  %s %s (%s)\n", e.Verb(), d.name(e.From), e.source())
		case e.From:
			fmt.Fprintf(&b, "  %s %s (%s)\n", e.Mirrored(), d.name(e.To), e.source())
		default:
			continue
		}
		none = false
	}
	if none {
		b.WriteString("  depends on nothing, and nothing on it\n")
	}
	var dropped []Edge
	for _, e := range d.Dropped {
		if e.From == i || e.To == i {
			dropped = append(dropped, e)
		}
	}
	b.WriteString(d.dropped(dropped))
	return b.String()
}

// Mirrored returns the verb of an edge for its earlier vertex.
func (e *Edge) Mirrored() string {
	switch e.Kind {
	case Subscribe:
		return "before, and refreshes"
	case Receive:
		return "sends to"
	case Turn:
		return "not together with"
	}
	return "before"
}

// source is the reason, and where it is written.
func (e *Edge) source() string {
	if e.At == nil {
		return printable.Line(e.Reason())
	}
	return printable.Line(e.Reason() + ", " + e.At.Pos())
}
