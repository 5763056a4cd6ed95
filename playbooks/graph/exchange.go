package graph

import (
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// An Import is a value that a vertex receives from a resource of another host.
type Import struct {
	Property string
	Host     string        // the name in the inventory
	From     string        // there: "exec#token.stdout"
	At       *yamlpos.Node // where it is written; nil if that is not known
}

// source names the sender of the value.
func (i Import) source() string { return i.From + " of " + i.Host }

// Exchanged lists the imports and exports of a vertex, each on a line of its own, for the terminal. With positions it
// has the places where values are received.
func (v *Vertex) Exchanged(positions bool) []string {
	var lines []string
	if v.On != "" {
		lines = append(lines, printable.Line("runs on "+v.On))
	}
	for _, one := range v.Imports {
		line := "receives " + one.Property + " from " + one.source()
		if positions && one.At != nil {
			line += " (recv, " + one.At.Pos() + ")"
		}
		lines = append(lines, printable.Line(line))
	}
	if len(v.Exports) > 0 {
		lines = append(lines, printable.Line(v.exports()))
	}
	return lines
}

func (v *Vertex) exports() string {
	if len(v.Exports) == 0 {
		return ""
	}
	return "exports " + strings.Join(v.Exports, ", ")
}

// dotImports writes the resources of other hosts into a graph of DOT, with their values.
func (d *Drawing) dotImports(b *strings.Builder) {
	known := map[string]int{}
	for _, i := range d.Order {
		for _, one := range d.Vertices[i].Imports {
			source := one.source()
			n, twice := known[source]
			if !twice {
				n = len(known)
				known[source] = n
				fmt.Fprintf(b, "  h%d [label=%s, style=\"rounded,dashed\", color=blue]\n", n, quoted(source))
			}
			fmt.Fprintf(b, "  h%d -> n%d [label=%s, color=blue]\n", n, i, quoted("recv "+one.Property))
		}
	}
}
