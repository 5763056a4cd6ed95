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

// A flowWriter is a buffer that nodes are written to. The zero value is empty.
type flowWriter struct{ bytes.Buffer }

// longFlowKey is from how many bytes on YAML wants a key to be announced: a little
// less than the 1024 of its specification, which count everything before the
// colon.
const longFlowKey = 1000

// Entries writes what stands between the braces of a map, with value for its values:
// [flowWriter.Value] or [flowWriter.Text].
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
	case n.Encrypted:
		w.WriteString("!vault ")
	}
}

// Text writes n, a scalar or a list, so that what is read back is text.
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

// quoteFlow writes s in double quotes, with YAML's escapes for what is not plain
// printable text.
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
