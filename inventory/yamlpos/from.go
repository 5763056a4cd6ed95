package yamlpos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// From makes a node from a value that was computed at run time. The node and all its children have the position of at
// and are marked Computed. The value may be nil, a boolean, a number, a string, or a slice or map of them; map keys are
// sorted. Any other value becomes the text that fmt prints.
func From(at *Node, v any) *Node { return computed(at, reflect.ValueOf(v)) }

// TextFrom returns the node of a text that is not in a file; errors name source.
func TextFrom(source, text string) *Node { return &Node{File: source, Text: text, Value: text} }

func computed(at *Node, v reflect.Value) *Node {
	n := &Node{File: at.File, Line: at.Line, Column: at.Column, Computed: true}
	switch v.Kind() {
	case reflect.Invalid:
	case reflect.Pointer, reflect.Interface:
		return computed(at, v.Elem())
	case reflect.Slice, reflect.Array:
		n.Kind = List
		for i := range v.Len() {
			n.Items = append(n.Items, computed(at, v.Index(i)))
		}
	case reflect.Map:
		n.Kind = Map
		n.Pairs = computedPairs(at, v)
	default:
		n.Value, n.Text = computedScalar(v)
	}
	return n
}

func computedPairs(at *Node, m reflect.Value) []Pair {
	var pairs []Pair
	for key, value := range m.Seq2() {
		text := fmt.Sprint(key.Interface())
		name := &Node{File: at.File, Line: at.Line, Column: at.Column, Computed: true, Text: text, Value: text}
		pairs = append(pairs, Pair{name, computed(at, value)})
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.Key.Text, b.Key.Text) })
	return pairs
}

func computedScalar(v reflect.Value) (value any, text string) {
	if n, ok := v.Interface().(json.Number); ok {
		return exactNumber(n), n.String()
	}
	switch {
	case v.Kind() == reflect.Bool:
		return v.Bool(), strconv.FormatBool(v.Bool())
	case v.CanInt():
		return v.Int(), strconv.FormatInt(v.Int(), 10)
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return int64(v.Uint()), strconv.FormatUint(v.Uint(), 10)
	case v.CanUint():
		return float64(v.Uint()), strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat():
		return v.Float(), fmt.Sprint(v.Float())
	case v.Kind() == reflect.String:
		return v.String(), v.String()
	}
	text = fmt.Sprint(v.Interface())
	return text, text
}

// exactNumber returns the value that YAML has for a number; the text of its node keeps all digits.
func exactNumber(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, err := n.Float64()
	if err != nil && f == 0 { // not a number at all
		return n.String()
	}
	return f
}
