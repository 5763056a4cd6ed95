package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kindOf names the type of a value, which is one of JSON, as JSON Schema does.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// equal compares two values. Numbers are equal if they are the same number: 1 and 1.0.
func (b *budget) equal(v, w any) bool {
	if !b.spend(1) {
		return false
	}
	switch v := v.(type) {
	case nil:
		return w == nil
	case bool:
		w, ok := w.(bool)
		return ok && v == w
	case string:
		w, ok := w.(string)
		return ok && b.spend(min(len(v), len(w))/64) && v == w
	case []any:
		w, ok := w.([]any)
		if !ok || len(v) != len(w) {
			return false
		}
		for i := range v {
			if !b.equal(v[i], w[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		w, ok := w.(map[string]any)
		if !ok || len(v) != len(w) {
			return false
		}
		for name := range v {
			other, ok := w[name]
			if !ok || !b.equal(v[name], other) {
				return false
			}
		}
		return true
	}
	if kindOf(w) != "number" {
		return false
	}
	n, ok := b.number(v)
	m, too := b.number(w)
	return ok && too && n.compare(m) == 0
}

// twins finds two elements that are equal; it is -1, -1 if all are different.
func (b *budget) twins(list []any) (first, second int) {
	seen := make(map[string]int, len(list))
	for i, item := range list {
		var text strings.Builder
		b.canonical(&text, item)
		if at, ok := seen[text.String()]; ok {
			return at, i
		}
		seen[text.String()] = i
	}
	return -1, -1
}

// canonical writes a value such that equal ones have equal texts.
func (b *budget) canonical(text *strings.Builder, v any) {
	if !b.spend(1) {
		return
	}
	switch v := v.(type) {
	case string:
		b.spend(len(v) / 64)
		text.WriteString(strconv.Quote(v))
	case []any:
		text.WriteByte('[')
		for _, item := range v {
			b.canonical(text, item)
			text.WriteByte(',')
		}
		text.WriteByte(']')
	case map[string]any:
		text.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.canonical(text, name)
			b.canonical(text, v[name])
		}
		text.WriteByte('}')
	default:
		if n, ok := b.number(v); ok {
			fmt.Fprintf(text, "%t %s %d", n.negative, n.digits, n.exp)
			return
		}
		fmt.Fprint(text, v) // null, true, false
	}
}
