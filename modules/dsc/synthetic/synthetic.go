// Package synthetic compares how a DSC resource shall be with how it is, for
// resources that cannot test by themselves. The rules are those of DSC 3, except
// that lists are compared as multisets: [a, a, b] is not [b, b, a].
package synthetic

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Rules say how texts and properties are compared. The zero Rules compare texts with
// their case, and every property.
type Rules struct {
	FoldCase bool // texts that differ only in case are equal
	// Skip leaves a property at the top out; nil leaves out none.
	Skip func(name string, wanted any) bool
	// Default is what a property at the top has that a state does not mention; nil if
	// that is not known.
	Default func(name string) any
}

// Diff names the properties of wanted that are not so in actual, sorted. Values are
// JSON as encoding/json decodes it, with or without [json.Number]. What only actual
// has does not count. If actual is no object, everything differs.
func (r Rules) Diff(wanted map[string]any, actual any) []string {
	have, isObject := actual.(map[string]any)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		want := wanted[name]
		if r.Skip != nil && r.Skip(name, want) || isSchema(name, want) {
			continue
		}
		if isObject && r.holds(name, want, have) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// isSchema reports whether a property only says what the others are.
func isSchema(name string, want any) bool {
	_, object := want.(map[string]any)
	return name == "$schema" && !object
}

func (r Rules) holds(name string, want any, actual map[string]any) bool {
	have, given := actual[name]
	switch {
	case given:
	case name == exist:
		have = true
	case r.Default != nil:
		if have = r.Default(name); have == nil {
			return false
		}
	default:
		return false
	}
	if have == nil && name == exist {
		have = true
	}
	return r.covers(want, have)
}

// exist says whether the instance is there at all. What does not mention it is.
const exist = "_exist"

// covers reports whether have is what want says: objects may have more, lists have
// the same elements in any order.
func (r Rules) covers(want, have any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		return ok && r.subset(want, have)
	case []any:
		have, ok := have.([]any)
		return ok && len(have) == len(want) && r.matches(want, have)
	case string:
		have, ok := have.(string)
		return ok && (want == have || r.FoldCase && strings.EqualFold(want, have))
	}
	if a, ok := number(want); ok {
		b, ok := number(have)
		return ok && a.Cmp(b) == 0
	}
	return want == have // booleans and null
}

func (r Rules) subset(want, have map[string]any) bool {
	for name, value := range want {
		if isSchema(name, value) {
			continue
		}
		if !(Rules{FoldCase: r.FoldCase}).holds(name, value, have) {
			return false
		}
	}
	return true
}

// matches finds for each wanted element one of its own: an augmenting path for each,
// since an element may cover several.
func (r Rules) matches(want, have []any) bool {
	taken := make([]int, len(have)) // by element of have: 1 + the wanted one it is for
	var place func(i int, tried []bool) bool
	place = func(i int, tried []bool) bool {
		for j := range have { // one that is free first: lists of many equal elements are common
			if taken[j] == 0 && !tried[j] && r.covers(want[i], have[j]) {
				taken[j] = i + 1
				return true
			}
		}
		for j := range have {
			if tried[j] || !r.covers(want[i], have[j]) {
				continue
			}
			tried[j] = true
			if place(taken[j]-1, tried) {
				taken[j] = i + 1
				return true
			}
		}
		return false
	}
	for i := range want {
		if !place(i, make([]bool, len(have))) {
			return false
		}
	}
	return true
}

// number gives a number exactly, whatever Go made of it. Exponents that no state has
// in earnest are compared as texts, which is cheaper than their digits.
func number(v any) (*big.Rat, bool) {
	const most = 400 // characters, and the exponent of what they say
	switch n := v.(type) {
	case json.Number:
		f, err := n.Float64()
		if err != nil || len(n) > most || f == 0 && strings.ContainsAny(mantissa(string(n)), "123456789") {
			return nil, false
		}
		return new(big.Rat).SetString(string(n))
	case float64: // as it is written, which is what others wrote too
		return new(big.Rat).SetString(strconv.FormatFloat(n, 'g', -1, 64))
	case int:
		return new(big.Rat).SetInt64(int64(n)), true
	case int64:
		return new(big.Rat).SetInt64(n), true
	case uint64:
		return new(big.Rat).SetUint64(n), true
	}
	return nil, false
}

func mantissa(n string) string {
	n, _, _ = strings.Cut(strings.ToLower(n), "e")
	return n
}

// Changed names the properties at the top in which two states of a resource differ,
// sorted: in either direction, so that one which only lost something has changed too.
func Changed(before, after map[string]any) []string {
	all := maps.Clone(before)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, after)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, hadA := before[name]
		b, hadB := after[name]
		if hadA != hadB || !same(a, b) {
			names = append(names, name)
		}
	}
	return names
}

// same compares both ways; the order of lists does not count.
func same(a, b any) bool {
	var r Rules
	return r.covers(a, b) && r.covers(b, a)
}
