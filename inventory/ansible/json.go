package ansible

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// JSON writes a value as ansible-inventory does, which is
// json.dumps(value, sort_keys=True, indent=4, ensure_ascii=False), with a newline.
// It takes an [Object], a []string, a string or a *[yamlpos.Node]. Two things are
// different: what could control a terminal is escaped, which means the same to a parser,
// and infinity and NaN, which JSON does not have, are strings.
func JSON(v any) string {
	var w jsonWriter
	w.value(v, 0)
	w.WriteByte('\n')
	return w.String()
}

// An Object is a JSON object of values that [JSON] accepts.
type Object map[string]any

type jsonWriter struct{ strings.Builder }

func (w *jsonWriter) value(v any, depth int) {
	switch v := v.(type) {
	case Object:
		w.object(v, depth)
	case []string:
		w.list(len(v), depth, func(i int) { w.WriteString(jsonText(v[i])) })
	case string:
		w.WriteString(jsonText(v))
	case *yamlpos.Node:
		w.node(v, depth)
	default:
		panic("ansible: no JSON for this type")
	}
}

func (w *jsonWriter) object(o Object, depth int) {
	keys := make([]string, 0, len(o))
	for key := range o {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	w.entries('{', '}', len(keys), depth, func(i int) {
		w.WriteString(jsonText(keys[i]) + ": ")
		w.value(o[keys[i]], depth+1)
	})
}

func (w *jsonWriter) list(n, depth int, item func(int)) { w.entries('[', ']', n, depth, item) }

// entries writes n entries on lines of their own between brackets.
func (w *jsonWriter) entries(open, end byte, n, depth int, entry func(int)) {
	w.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		w.newline(depth + 1)
		entry(i)
	}
	if n > 0 {
		w.newline(depth)
	}
	w.WriteByte(end)
}

func (w *jsonWriter) newline(depth int) {
	w.WriteByte('\n')
	for range depth {
		w.WriteString("    ")
	}
}

func (w *jsonWriter) node(n *yamlpos.Node, depth int) {
	switch n.Kind {
	case yamlpos.Map:
		pairs := slices.SortedStableFunc(slices.Values(n.Pairs), compareKeys)
		w.entries('{', '}', len(pairs), depth, func(i int) {
			w.WriteString(jsonText(pairs[i].Key.Text) + ": ")
			w.node(pairs[i].Value, depth+1)
		})
	case yamlpos.List:
		w.list(len(n.Items), depth, func(i int) { w.node(n.Items[i], depth+1) })
	default:
		w.marked(n, depth)
	}
}

// marked writes a scalar. A scalar with the tag !unsafe or !vault is written as a map with the marker key.
func (w *jsonWriter) marked(n *yamlpos.Node, depth int) {
	key := ""
	switch {
	case n.Plain:
		key = unsafeKey
	case n.Sealed != nil:
		key = vaultKey
	default:
		w.WriteString(jsonScalar(n))
		return
	}
	w.entries('{', '}', 1, depth, func(int) { w.WriteString(jsonText(key) + ": " + jsonText(n.Text)) })
}

// compareKeys sorts keys like Python: numbers by value, texts by code point. Python fails if one map has both; here
// numbers come first.
func compareKeys(a, b yamlpos.Pair) int {
	return cmp.Or(cmp.Compare(keyNumber(a.Key), keyNumber(b.Key)), strings.Compare(a.Key.Text, b.Key.Text))
}

func keyNumber(key *yamlpos.Node) float64 {
	switch v := key.Value.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.Inf(1)
}

// Scalar writes a scalar as json.dumps does, which has Infinity, -Infinity and NaN for
// the floats that JSON does not have.
func Scalar(n *yamlpos.Node) string {
	switch v := n.Value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return floatOf(n, v)
	}
	return jsonText(n.Text)
}

func jsonScalar(n *yamlpos.Node) string {
	if v, isFloat := n.Value.(float64); isFloat && (math.IsNaN(v) || math.IsInf(v, 0)) {
		return jsonText(floatOf(n, v))
	}
	return Scalar(n)
}

// jsonText quotes a text. Like Python it keeps characters beyond ASCII, but it escapes control characters of terminals.
func jsonText(s string) string {
	text, err := printable.JSON(s)
	if err != nil { // every string can be encoded
		panic(err)
	}
	return string(text)
}

// A text with the tag !unsafe or !vault is a map with one of these keys in Ansible's JSON.
const (
	unsafeKey = "__ansible_unsafe"
	vaultKey  = "__ansible_vault"
)

// Marked returns n with texts instead of such maps, as Ansible reads JSON. Without such a map, it returns n itself. by
// opens encrypted values and may be nil.
func Marked(n *yamlpos.Node, by yamlpos.Opener) *yamlpos.Node {
	if text := markedText(n, by); text != nil {
		return text
	}
	var changed *yamlpos.Node
	change := func() *yamlpos.Node {
		if changed == nil {
			other := *n
			other.Pairs, other.Items = slices.Clone(n.Pairs), slices.Clone(n.Items)
			changed = &other
		}
		return changed
	}
	for i, p := range n.Pairs {
		if value := Marked(p.Value, by); value != p.Value {
			change().Pairs[i].Value = value
		}
	}
	for i, item := range n.Items {
		if value := Marked(item, by); value != item {
			change().Items[i] = value
		}
	}
	if changed != nil {
		return changed
	}
	return n
}

// markedText returns the text that such a map represents; nil for any other node.
func markedText(n *yamlpos.Node, by yamlpos.Opener) *yamlpos.Node {
	if len(n.Pairs) != 1 || n.Pairs[0].Value.Kind != yamlpos.Scalar {
		return nil
	}
	text := *n.Pairs[0].Value
	_, isText := text.Value.(string)
	switch key := n.Pairs[0].Key.Text; {
	case key == unsafeKey:
		text.Plain = isText // a number has nothing to evaluate
	case key == vaultKey && isText:
		return text.SealedAs("!vault", by)
	default:
		return nil
	}
	return &text
}
