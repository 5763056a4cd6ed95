package graph

import (
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// DOT returns the graph in the language of Graphviz. Automatic edges are dashed; edges that only keep two vertices
// apart are dotted, without an arrow.
func (d *Drawing) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", quoted(d.Title))
	b.WriteString("  rankdir=LR\n  node [shape=box, style=rounded, fontname=\"sans-serif\"]\n  edge [fontname=\"sans-serif\", fontsize=10]\n")
	within := map[int][]int{}
	for _, i := range d.Order {
		w := d.Vertices[i].Within
		within[w] = append(within[w], i)
	}
	d.cluster(&b, within, -1, "  ")
	for _, e := range d.Edges {
		style := ""
		switch e.Kind {
		case Automatic:
			style = ", style=dashed"
		case Turn:
			style = ", style=dotted, arrowhead=none, constraint=false"
		case Subscribe:
			style = ", penwidth=2"
		case Receive:
			style = ", color=blue"
		}
		fmt.Fprintf(&b, "  n%d -> n%d [label=%s%s]\n", e.From, e.To, quoted(e.Why), style)
	}
	d.dotImports(&b)
	b.WriteString("}\n")
	return b.String()
}

// cluster writes the vertices that are within one.
func (d *Drawing) cluster(b *strings.Builder, within map[int][]int, of int, indent string) {
	for _, i := range within[of] {
		if len(within[i]) == 0 {
			mark := ""
			if exports := d.Vertices[i].exports(); exports != "" {
				mark = ", color=blue, xlabel=" + quoted(exports)
			}
			label := d.Called(i)
			if on := d.Vertices[i].On; on != "" {
				label += " on " + on
			}
			fmt.Fprintf(b, "%sn%d [label=%s%s]\n", indent, i, quoted(label), mark)
			continue
		}
		fmt.Fprintf(b, "%ssubgraph cluster_%d {\n%s  label=%s\n", indent, i, indent, quoted(d.Called(i)))
		d.cluster(b, within, i, indent+"  ")
		fmt.Fprintf(b, "%s  n%d [label=%s, style=bold]\n%s}\n", indent, i, quoted(d.Called(i)), indent)
	}
}

// quoted returns a string of DOT. DOT's own escapes, such as \N for the name of the node, must not take effect in texts
// of a manifest.
func quoted(s string) string {
	s = printable.Line(s)
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
