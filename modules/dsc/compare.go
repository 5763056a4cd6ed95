package dsc

import (
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules/dsc/schema"
)

// exist is the property that reports whether the instance exists. A state without it is a state of an existing
// instance.
const exist = "_exist"

// absentWanted reports whether the instance must not exist.
func (in *instance) absentWanted() bool { return isFalse(in.wanted[exist]) }

func isFalse(v any) bool {
	b, ok := v.(bool)
	return ok && !b
}

func isAbsent(v any) bool {
	s, ok := v.(string)
	return ok && strings.EqualFold(s, "absent")
}

// compare names the properties that differ from the desired state.
func (in *instance) compare(actual map[string]any) []string {
	wanted := maps.Clone(in.wanted)
	delete(wanted, metadata)
	r := rules{
		foldCase: !in.resource.run.CaseSensitive,
		skip: func(name string, value any) bool {
			return isSecure(value) || in.resource.schema.Property(name).WriteOnly || name == "_purge" || name == "_validation"
		},
		otherwise: func(name string) any { return in.resource.schema.Property(name).Default },
	}
	if in.absentWanted() { // then the others do not count
		if isFalse(actual[exist]) {
			return nil
		}
		return []string{exist}
	}
	if isAbsent(wanted["_ensure"]) && isAbsent(actual["_ensure"]) {
		return nil
	}
	if _, given := wanted[exist]; !given {
		wanted[exist] = true
	}
	if _, given := wanted["_ensure"]; !given && isAbsent(actual["_ensure"]) {
		wanted["_ensure"] = "present"
	}
	return r.diff(wanted, map[string]any(actual))
}

// rules control how the properties of an instance are compared with a state, for resources that cannot test by
// themselves. They match DSC 3, except that lists are compared as multisets: [a, a, b] is not [b, b, a]. The zero rules
// compare texts with their case, and every property.
type rules struct {
	foldCase bool // texts that differ only in case are equal
	// skip reports whether to ignore a top-level property; nil ignores none.
	skip func(name string, wanted any) bool
	// otherwise returns the value of a top-level property that a state does not mention; nil if it is not known.
	otherwise func(name string) any
}

// diff names the properties of wanted that differ in actual, sorted. Values are JSON as encoding/json decodes it, with
// or without [json.Number]. Properties that only actual has are ignored. If actual is not an object, everything
// differs.
func (r rules) diff(wanted map[string]any, actual any) []string {
	have, isObject := actual.(map[string]any)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		want := wanted[name]
		if r.skip != nil && r.skip(name, want) || isSchema(name, want) {
			continue
		}
		if isObject && r.holds(name, want, have) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// isSchema reports whether a property only names the schema of the others.
func isSchema(name string, want any) bool {
	_, object := want.(map[string]any)
	return name == "$schema" && !object
}

func (r rules) holds(name string, want any, actual map[string]any) bool {
	have, given := actual[name]
	switch {
	case given:
	case name == exist:
		have = true
	case r.otherwise != nil:
		if have = r.otherwise(name); have == nil {
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

// covers reports whether have matches want: objects may have more members, lists have the same elements in any order.
func (r rules) covers(want, have any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		return ok && r.subset(want, have)
	case []any:
		have, ok := have.([]any)
		return ok && len(have) == len(want) && r.matches(want, have)
	case string:
		have, ok := have.(string)
		return ok && (want == have || r.foldCase && strings.EqualFold(want, have))
	}
	if same, isNumber := schema.SameNumber(want, have); isNumber {
		return same
	}
	return want == have // booleans and null
}

func (r rules) subset(want, have map[string]any) bool {
	for name, value := range want {
		if isSchema(name, value) {
			continue
		}
		if !(rules{foldCase: r.foldCase}).holds(name, value, have) {
			return false
		}
	}
	return true
}

// matches assigns a separate element to each wanted one: it finds an augmenting path for each, since an element may
// cover several.
func (r rules) matches(want, have []any) bool {
	taken := make([]int, len(have)) // for each element of have: 1 + the index of its wanted element
	var place func(i int, tried []bool) bool
	place = func(i int, tried []bool) bool {
		for j := range have { // a free one first: lists of many equal elements are common
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

// changed names the properties at the top in which two states of a resource differ,
// sorted: in either direction, so that one which only lost something has changed too.
func changed(before, after map[string]any) []string {
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
	var r rules
	return r.covers(a, b) && r.covers(b, a)
}
