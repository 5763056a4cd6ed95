package inventory

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Encode writes the inventory as YAML that [Parse] reads back into an equal one:
// same hosts, groups, orders, variables and connections. Passwords are left out, and
// what stands in group_vars and host_vars. The hosts of ungrouped come in the order
// in which they were first named: those that stood there came before those that only
// all listed, and YAML that names each group once cannot always say both orders.
// Ranges and aliases are written out, and what several inventories say is merged.
func (inv *Inventory) Encode() []byte {
	var e encoder
	// ungrouped fixes the order of the hosts and has their variables. Parse takes
	// those that other groups list out of it again.
	e.open(0, ungrouped)
	e.layer(inv.groupOf[ungrouped])
	e.open(1, "hosts")
	for _, h := range inv.hosts {
		e.host(h)
	}
	// Then the groups in their order, without children: naming a child would
	// bring it forward.
	for _, g := range inv.groups {
		if g.Name != ungrouped && g.Name != allGroup {
			e.open(0, g.Name)
			e.layer(g)
			e.hosts(g)
		}
	}
	all := inv.groupOf[allGroup]
	e.open(0, allGroup)
	e.layer(all)
	e.hosts(all)
	e.children(1, all, map[*Group]bool{})
	return e.Bytes()
}

type encoder struct{ bytes.Buffer }

// open writes a name whose value follows on deeper lines, or is null.
func (e *encoder) open(indent int, name string) {
	e.WriteString(strings.Repeat("  ", indent) + quote(name) + ":\n")
}

// host writes a host with all that is below it, on one line.
func (e *encoder) host(h *Host) {
	e.WriteString("    " + quote(h.Name) + ": {")
	vars := merged(h.layer.vars)
	e.entries(vars, e.value)
	if connect := merged(h.layer.connects); len(connect) > 0 {
		e.separate(len(vars))
		e.connect(connect)
	}
	e.WriteString("}\n")
}

// connect writes the map with its values as text, since text is what they are
// read as: 0x10 is the user 0x10.
func (e *encoder) connect(pairs []yamlpos.Pair) {
	e.WriteString(`"connect": {`)
	e.entries(pairs, e.text)
	e.WriteString("}")
}

func (e *encoder) hosts(g *Group) {
	if len(g.hosts) > 0 {
		e.open(1, "hosts")
	}
	for _, h := range g.hosts {
		e.open(2, h.Name)
	}
}

// layer writes vars and connect of a group.
func (e *encoder) layer(g *Group) {
	vars := merged(g.layer.vars)
	if g.Priority != 1 {
		vars = append(vars, yamlpos.Pair{Key: textNode("", priorityKey), Value: &yamlpos.Node{Value: int64(g.Priority)}})
	}
	if len(vars) > 0 {
		e.WriteString(`  "vars": {`)
		e.entries(vars, e.value)
		e.WriteString("}\n")
	}
	if connect := merged(g.layer.connects); len(connect) > 0 {
		e.WriteString("  ")
		e.connect(connect)
		e.WriteString("\n")
	}
}

// children writes the graph below g. Below a group that was written before
// there is nothing to add.
func (e *encoder) children(indent int, g *Group, written map[*Group]bool) {
	if written[g] || len(g.Children) == 0 {
		return
	}
	written[g] = true
	e.open(indent, "children")
	for _, child := range g.Children {
		e.open(indent+1, child.Name)
		e.children(indent+2, child, written)
	}
}

// merged gives the entries of several maps, each key where it first stands and
// with its last value.
func merged(maps []*yamlpos.Node) []yamlpos.Pair {
	var pairs []yamlpos.Pair
	index := map[string]int{}
	for _, m := range maps {
		for _, p := range m.Pairs {
			i, known := index[p.Key.Text]
			if !known {
				i = len(pairs)
				index[p.Key.Text] = i
				pairs = append(pairs, p)
			}
			pairs[i] = p
		}
	}
	return pairs
}

// longKey is from how many bytes on YAML wants a key to be announced: a little
// less than the 1024 of its specification, which count everything before the
// colon.
const longKey = 1000

func (e *encoder) entries(pairs []yamlpos.Pair, value func(*yamlpos.Node)) {
	for i, p := range pairs {
		e.separate(i)
		key := quote(p.Key.Text)
		if len(key) >= longKey {
			key = "? " + key
		}
		e.WriteString(key + ": ")
		value(p.Value)
	}
}

// value writes n on one line.
func (e *encoder) value(n *yamlpos.Node) {
	switch n.Kind {
	case yamlpos.Map:
		e.WriteString("{")
		e.entries(n.Pairs, e.value)
		e.WriteString("}")
	case yamlpos.List:
		e.list(n, e.value)
	default:
		e.WriteString(scalar(n.Value))
	}
}

func (e *encoder) text(n *yamlpos.Node) {
	switch {
	case n.Kind == yamlpos.List:
		e.list(n, e.text)
	case isNull(n):
		e.WriteString("null")
	default:
		e.WriteString(quote(n.Text))
	}
}

func (e *encoder) list(n *yamlpos.Node, value func(*yamlpos.Node)) {
	e.WriteString("[")
	for i, item := range n.Items {
		e.separate(i)
		value(item)
	}
	e.WriteString("]")
}

func (e *encoder) separate(i int) {
	if i > 0 {
		e.WriteString(", ")
	}
}

func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case float64:
		return float(v)
	case string:
		return quote(v)
	}
	return fmt.Sprint(v)
}

// float writes a number that YAML reads as a float again, also if it is whole.
func float(f float64) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// quote writes s in double quotes, with YAML's escapes for what is not plain
// printable text.
func quote(s string) string {
	out := []byte{'"'}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < ' ' || r >= 0x7f && r <= 0xa0:
			out = fmt.Appendf(out, `\x%02x`, r)
		case r == 0x2028 || r == 0x2029 || r >= 0xd800 && r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return string(append(out, '"'))
}
