package graph

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// style is readable on light and on dark ground: the colors are those that the
// reader has chosen for the system.
const style = `
    svg { background: #ffffff; font-family: system-ui, sans-serif; font-size: 13px; }
    text { fill: #1b1f24; }
    .kind { fill: #57606a; font-size: 11px; }
    .box { fill: #f6f8fa; stroke: #57606a; }
    .trades { stroke: #0969da; }
    .whole { fill: #ddf4ff; stroke: #0969da; }
    .edge { fill: none; stroke: #424a53; stroke-width: 1.4; }
    .automatic { stroke-dasharray: 5 4; }
    .turn { stroke-dasharray: 1 4; stroke-linecap: round; }
    .subscribe { stroke-width: 2.6; }
    .receive { stroke: #0969da; }
    .head { fill: #424a53; }
    .why { fill: #57606a; font-size: 10px; }
    @media (prefers-color-scheme: dark) {
      svg { background: #0d1117; }
      text { fill: #e6edf3; }
      .kind, .why { fill: #9198a1; }
      .box { fill: #161b22; stroke: #7d8590; }
      .trades { stroke: #58a6ff; }
      .whole { fill: #0c2d6b; stroke: #58a6ff; }
      .edge { stroke: #b1bac4; }
      .receive { stroke: #58a6ff; }
      .head { fill: #b1bac4; }
    }
`

// SVG draws the graph from left to right. Each box has a title with the whole
// name, each line one with its reason.
func (d *Drawing) SVG() string {
	plain := *d
	plain.Graph = d.essential()
	l := lay(plain.Graph)
	heading := d.heading()
	width := max(l.width, utf8.RuneCountInString(heading)*9+2*margin, legendWidth)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", width, l.height, width, l.height)
	fmt.Fprintf(&b, "  <title>%s</title>\n  <style>%s  </style>\n", escaped(d.Title), style)
	b.WriteString(`  <defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `  <text x="%d" y="%d" font-size="15" font-weight="600">%s</text>`+"\n", margin, margin+4, escaped(heading))
	fmt.Fprintf(&b, `  <text class="why" x="%d" y="%d">%s</text>`+"\n", margin, margin+22, legend)
	for _, one := range l.lines {
		plain.line(&b, l, one)
	}
	whole := map[int]bool{}
	for i := range d.Vertices {
		whole[d.Vertices[i].Within] = true
	}
	for i := range d.Vertices {
		d.box(&b, l.points[i], whole[i])
	}
	b.WriteString("</svg>\n")
	return b.String()
}

const (
	legend      = "solid: as written · bold: refreshes · blue: sends a value, or trades with other hosts · dashed: automatic, without what follows from others · dotted: takes turns"
	legendWidth = 1040
)

// maxReduced bounds the graphs of which a picture leaves out what follows from the
// rest, in edges: each is looked at by itself.
const maxReduced = 5000

// essential is the graph without the automatic edges that follow from others: the
// owner of a directory comes before what is in it anyway.
func (g *Graph) essential() *Graph {
	if len(g.Edges) > maxReduced {
		return g
	}
	next := make([][]int, len(g.Vertices))
	for _, e := range g.Edges {
		if e.Kind != Turn {
			next[e.From] = append(next[e.From], e.To)
		}
	}
	reduced := *g
	reduced.Edges = nil
	for _, e := range g.Edges {
		if e.Kind != Automatic || !detour(next, g.Level, e) {
			reduced.Edges = append(reduced.Edges, e)
		}
	}
	return &reduced
}

// detour reports whether there is a way from one end of an edge to the other
// besides it.
func detour(next [][]int, level []int, e Edge) bool {
	been := map[int]bool{}
	stack := []int{e.From}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, to := range next[at] {
			switch {
			case to == e.To && at != e.From:
				return true
			case to == e.To, been[to], level[to] >= level[e.To]:
				continue
			}
			been[to] = true
			stack = append(stack, to)
		}
	}
	return false
}

// line draws an edge, as a curve over its points.
func (d *Drawing) line(b *strings.Builder, l *layout, one line) {
	e := &d.Edges[one.edge]
	class := map[Kind]string{Automatic: " automatic", Turn: " turn", Subscribe: " subscribe", Receive: " receive"}[e.Kind]
	first := l.points[one.points[0]]
	x, y := first.x+first.width, first.y
	path := fmt.Sprintf("M%d %d", x, y)
	for k, p := range one.points[1:] {
		to := l.points[p]
		switch middle := (x + to.x) / 2; {
		case to.column <= first.column && k == 0: // within one column: around the left side
			path = fmt.Sprintf("M%d %d C%d %d %d %d %d %d", first.x, first.y, first.x-40, first.y, to.x-40, to.y, to.x, to.y)
		default:
			path += fmt.Sprintf(" C%d %d %d %d %d %d", middle, y, middle, to.y, to.x, to.y)
		}
		x, y = to.x, to.y
		if to.vertex < 0 {
			x += to.width
			path += fmt.Sprintf(" L%d %d", x, y)
		}
	}
	head := ` marker-end="url(#head)"`
	if e.Kind == Turn {
		head = ""
	}
	fmt.Fprintf(b, `  <path class="edge%s" d="%s"%s><title>%s</title></path>`+"\n", class, path, head,
		escaped(fmt.Sprintf("%s %s %s (%s)", d.Called(e.To), e.Verb(), d.Called(e.From), e.Reason())))
}

// box draws a vertex; whole is one that stands for a manifest.
func (d *Drawing) box(b *strings.Builder, p point, whole bool) {
	v := &d.Vertices[p.vertex]
	class := "box"
	if whole {
		class = "box whole"
	}
	if len(v.Imports)+len(v.Exports) > 0 {
		class += " trades"
	}
	kind, name := label(v, d.Called(p.vertex))
	title := strings.Join(append([]string{d.Called(p.vertex) + d.place(p.vertex)}, v.Exchanged(false)...), "; ")
	fmt.Fprintf(b, `  <g><title>%s</title><rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, escaped(title), class, p.x, p.y-p.height/2, p.width, p.height)
	fmt.Fprintf(b, `<text class="kind" x="%d" y="%d">%s</text><text x="%d" y="%d">%s</text></g>`+"\n",
		p.x+boxPadding/2, p.y-4, escaped(kind), p.x+boxPadding/2, p.y+12, escaped(name))
}

// label gives what stands in the box of a vertex: above, its type and what it has to
// do with other hosts.
func label(v *Vertex, called string) (kind, name string) {
	kind, name, _ = strings.Cut(called, "#")
	if v.On != "" {
		kind += " · on " + v.On
	}
	for _, one := range v.Imports {
		kind += " · from " + one.source()
	}
	if exports := v.exports(); exports != "" {
		kind += " · " + exports
	}
	return fitting(kind), fitting(name)
}

// fitting is a text as a box has it: a long one loses its middle.
func fitting(text string) string {
	runes := []rune(printable.Line(text))
	if len(runes) > maxLetters {
		runes = append(append(runes[:maxLetters/2:maxLetters/2], '…'), runes[len(runes)-maxLetters/2+1:]...)
	}
	return string(runes)
}

// escaped is text in XML, without what no terminal and no parser likes.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(printable.Line(s))) // a builder takes all
	return b.String()
}
