package inventory

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Encode writes the inventory as YAML that [Parse] reads into an equal one: same hosts, groups, orders, variables and
// connections. It omits passwords and the variables of group_vars and host_vars. The hosts of ungrouped come in the
// order in which they were first named: hosts listed in ungrouped came before hosts that only all listed, and YAML that
// names each group once cannot always express both orders. Ranges and aliases are written out, and several inventories
// are merged.
func (inv *Inventory) Encode() []byte {
	var e encoder
	// ungrouped fixes the order of the hosts and has their variables. Parse removes hosts that other groups list.
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

type encoder struct{ flowWriter }

// open writes a name whose value follows on deeper lines, or is null.
func (e *encoder) open(indent int, name string) {
	e.WriteString(strings.Repeat("  ", indent) + quoteFlow(name) + ":\n")
}

// host writes a host with its whole body, on one line.
func (e *encoder) host(h *Host) {
	e.WriteString("    " + quoteFlow(h.Name) + ": {")
	vars := mergePairs(h.said.vars)
	e.Entries(vars, e.Value)
	if connect := mergePairs(h.said.connects); len(connect) > 0 {
		e.Separate(len(vars))
		e.connect(connect)
	}
	e.WriteString("}\n")
}

// connect writes the map with its values as text, since they are read as text: 0x10 is the user 0x10.
func (e *encoder) connect(pairs []yamlpos.Pair) {
	e.WriteString(`"connect": {`)
	e.Entries(pairs, e.Text)
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
	vars := mergePairs(g.said.vars)
	if g.Priority != 1 {
		vars = append(vars, yamlpos.Pair{Key: yamlpos.TextFrom("", priorityKey), Value: &yamlpos.Node{Value: int64(g.Priority)}})
	}
	if len(vars) > 0 {
		e.WriteString(`  "vars": {`)
		e.Entries(vars, e.Value)
		e.WriteString("}\n")
	}
	if connect := mergePairs(g.said.connects); len(connect) > 0 {
		e.WriteString("  ")
		e.connect(connect)
		e.WriteString("\n")
	}
}

// children writes the graph below g. A group that was already written needs nothing more.
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

// A flowWriter is a buffer that nodes are written to. The zero value is empty.
type flowWriter struct{ bytes.Buffer }

// longFlowKey is from how many bytes on YAML wants a key to be announced: a little
// less than the 1024 of its specification, which count everything before the
// colon.
const longFlowKey = 1000

// Entries writes the text between the braces of a map; value writes each value: [flowWriter.Value] or
// [flowWriter.Text].
func (w *flowWriter) Entries(pairs []yamlpos.Pair, value func(*yamlpos.Node)) {
	for i, p := range pairs {
		w.Separate(i)
		key := quoteFlow(p.Key.Text)
		if len(key) >= longFlowKey {
			key = "? " + key
		}
		w.WriteString(key + ": ")
		value(p.Value)
	}
}

// Value writes n.
func (w *flowWriter) Value(n *yamlpos.Node) {
	switch n.Kind {
	case yamlpos.Map:
		w.WriteString("{")
		w.Entries(n.Pairs, w.Value)
		w.WriteString("}")
	case yamlpos.List:
		w.list(n, w.Value)
	default:
		w.tag(n)
		w.WriteString(flowScalar(n.Value))
	}
}

// tag writes the tag of Ansible's that a scalar had.
func (w *flowWriter) tag(n *yamlpos.Node) {
	switch {
	case n.Plain:
		w.WriteString("!unsafe ")
	case n.Sealed != nil:
		w.WriteString("!vault ")
	}
}

// Text writes n, a scalar or a list, so that its values are read back as text.
func (w *flowWriter) Text(n *yamlpos.Node) {
	switch {
	case n.Kind == yamlpos.List:
		w.list(n, w.Text)
	case n.IsNull():
		w.WriteString("null")
	default:
		w.tag(n)
		w.WriteString(quoteFlow(n.Text))
	}
}

func (w *flowWriter) list(n *yamlpos.Node, value func(*yamlpos.Node)) {
	w.WriteString("[")
	for i, item := range n.Items {
		w.Separate(i)
		value(item)
	}
	w.WriteString("]")
}

// Separate writes the comma before the i-th of several things, counted from 0.
func (w *flowWriter) Separate(i int) {
	if i > 0 {
		w.WriteString(", ")
	}
}

func flowScalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case float64:
		return flowFloat(v)
	case string:
		return quoteFlow(v)
	}
	return fmt.Sprint(v)
}

// flowFloat writes a number that YAML reads as a float again, also if it is whole.
func flowFloat(f float64) string {
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

// quoteFlow writes s in double quotes, with YAML's escapes for anything except plain printable text.
func quoteFlow(s string) string {
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

func parseOne(t testing.TB, text string) *yamlpos.Node {
	t.Helper()
	documents, err := yamlpos.Parse("f", []byte(text))
	require.NoError(t, err, "%s", text)
	require.Len(t, documents, 1)
	return documents[0]
}

func TestFlowWriter(t *testing.T) {
	var w flowWriter
	w.Entries(parseOne(t, "a: [0x10, yes, ~, 1.0]\nb: {c: \"\\e\\u2028\\\"é\"}\n").Pairs, w.Value)
	require.Equal(t, `"a": [16, "yes", null, 1.0], "b": {"c": "\x1b\u2028\"é"}`, w.String())
	w.Reset()
	w.Entries(parseOne(t, "a: [0x10, yes]\nb: 0777\nc: ~\n").Pairs, w.Text)
	require.Equal(t, `"a": ["0x10", "yes"], "b": "0777", "c": null`, w.String())
}

// FuzzFlowWriter checks that written values are read back unchanged.
func FuzzFlowWriter(f *testing.F) {
	for _, text := range []string{
		"{a: [1, {b: 2.0}], c: ~, d: x}", "1e300", "-.inf", "99999999999999999999", "true", `"\0\x85\ud7ff\U0001F600"`, "[[], {}, '']",
		"{? " + strings.Repeat("k", 3000) + " : 1}", "2024-01-02", `"- a: b"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		documents, err := yamlpos.Parse("f", []byte(text))
		if err != nil || len(documents) != 1 || size(documents[0]) > 1000 {
			return
		}
		var w flowWriter
		w.Value(documents[0])
		if again := parseOne(t, w.String()).Any(); !hasNaN(again) {
			require.Equal(t, documents[0].Any(), again, "%s", w.String())
		}
		require.NotContains(t, w.String(), "\n")
	})
}

func size(n *yamlpos.Node) int {
	total := 1 + len(n.Text)
	for _, item := range n.Items {
		total += size(item)
	}
	for _, p := range n.Pairs {
		total += len(p.Key.Text) + size(p.Value)
	}
	return total
}

func hasNaN(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.IsNaN(v)
	case []any:
		for _, item := range v {
			if hasNaN(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if hasNaN(item) {
				return true
			}
		}
	}
	return false
}

// mergePairs merges the entries of several maps: each key keeps its first position and has its last value.
func mergePairs(maps []*yamlpos.Node) []yamlpos.Pair {
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
