package schema

import (
	"fmt"
	"maps"
	"math"
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

// values are the values that const and enum allow.
type values struct {
	list  []any
	kinds map[string]bool // kinds in the list: a value of another kind need not be written out
	texts map[string]bool // texts of the list, in canonical form
}

func newValues(list []any) *values {
	vs := &values{list, map[string]bool{}, map[string]bool{}}
	all := &budget{math.MaxInt} // it takes no more than reading the schema did
	for _, v := range list {
		vs.kinds[kindOf(v)] = true
		vs.texts[all.canonical(v)] = true
	}
	return vs
}

// has reports whether v is one of them.
func (vs *values) has(v any, b *budget) bool { return vs.kinds[kindOf(v)] && vs.texts[b.canonical(v)] }

// duplicates finds two elements that are equal; it is -1, -1 if all are different.
func (b *budget) duplicates(list []any) (first, second int) {
	seen := make(map[string]int, len(list))
	for i, item := range list {
		text := b.canonical(item)
		if at, ok := seen[text]; ok {
			return at, i
		}
		seen[text] = i
	}
	return -1, -1
}

// canonical writes a value such that equal ones have equal texts. Numbers are equal if
// they are the same number: 1 and 1.0.
func (b *budget) canonical(v any) string {
	var text strings.Builder
	b.write(&text, v)
	return text.String()
}

func (b *budget) write(text *strings.Builder, v any) {
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
			b.write(text, item)
			text.WriteByte(',')
		}
		text.WriteByte(']')
	case map[string]any:
		text.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.write(text, name)
			b.write(text, v[name])
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
