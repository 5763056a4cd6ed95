package ansible

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Str formats a value like Python's str: a text stays unchanged, any other value is written as in a program. Characters
// that could control a terminal or begin a new line are escaped.
func Str(n *yamlpos.Node) string {
	if n.Kind == yamlpos.Scalar {
		if _, isText := n.Value.(string); isText {
			return oneLine(n.Text)
		}
	}
	return printable.Line(repr(n))
}

// oneLine is [printable.Line] that keeps tabs.
func oneLine(text string) string {
	parts := strings.Split(text, "\t")
	for i, part := range parts {
		parts[i] = printable.Line(part)
	}
	return strings.Join(parts, "\t")
}

// repr formats a value like Python's repr. Maps keep the order of the file.
func repr(n *yamlpos.Node) string {
	switch n.Kind {
	case yamlpos.Map:
		entries := make([]string, len(n.Pairs))
		for i, p := range n.Pairs {
			entries[i] = repr(p.Key) + ": " + repr(p.Value)
		}
		return "{" + strings.Join(entries, ", ") + "}"
	case yamlpos.List:
		items := make([]string, len(n.Items))
		for i, item := range n.Items {
			items[i] = repr(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return reprScalar(n)
}

func reprScalar(n *yamlpos.Node) string {
	switch v := n.Value.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return strings.ToLower(strings.TrimSuffix(floatOf(n, v), "inity")) // inf, -inf, nan
		}
		return floatOf(n, v)
	}
	return reprText(n.Text)
}

// reprText is repr of a str: in single quotes, or in double ones if only
// those need no escape.
func reprText(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		b.WriteString(reprRune(r, quote))
	}
	b.WriteRune(quote)
	return b.String()
}

func reprRune(r, quote rune) string {
	switch {
	case r == quote || r == '\\':
		return `\` + string(r)
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r != ' ' && !unicode.IsPrint(r) && r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r != ' ' && !unicode.IsPrint(r) && r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	case r != ' ' && !unicode.IsPrint(r):
		return fmt.Sprintf(`\U%08x`, r)
	}
	return string(r)
}

// floatOf writes a number that does not fit into an int64, see [Float]. An integer keeps
// all its digits.
func floatOf(n *yamlpos.Node, v float64) string {
	if !n.Computed && isInteger(n.Text) {
		return strings.TrimPrefix(n.Text, "+")
	}
	return Float(v)
}

// Float writes a number as repr does: shortest, and with an exponent from 1e16 on
// and below 1e-4. Infinity, -Infinity and NaN are written as json.dumps does.
func Float(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	text := strconv.FormatFloat(v, 'e', -1, 64)
	_, exponent, _ := strings.Cut(text, "e")
	if e, _ := strconv.Atoi(exponent); e >= -4 && e < 16 {
		text = strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
	}
	return text
}

// isInteger reports whether a text is a decimal integer as JSON has them.
func isInteger(text string) bool {
	return json.Valid([]byte(strings.TrimPrefix(text, "+"))) && strings.Trim(text, "+-0123456789") == ""
}
