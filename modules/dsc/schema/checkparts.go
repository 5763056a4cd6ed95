package schema

import (
	"fmt"
	"maps"
	"slices"
)

// marks are the members and elements that schemas have evaluated.
type marks struct {
	members  map[string]bool
	elements map[int]bool
}

func (m *marks) member(name string) {
	if m == nil {
		return
	}
	if m.members == nil {
		m.members = map[string]bool{}
	}
	m.members[name] = true
}

func (m *marks) element(i int) {
	if m == nil {
		return
	}
	if m.elements == nil {
		m.elements = map[int]bool{}
	}
	m.elements[i] = true
}

// merge adds those of others, and tells how many they were.
func (m *marks) merge(others *marks) int {
	for name := range others.members {
		m.member(name)
	}
	for i := range others.elements {
		m.element(i)
	}
	return len(others.members) + len(others.elements)
}

func (n *node) asksForMarks() bool { return n.unevaluatedProperty != nil || n.unevaluatedItems != nil }

func (f *frame) object(v map[string]any) {
	n := f.n
	f.within("Properties", len(v), n.minProperties, n.maxProperties)
	for _, name := range n.required {
		if _, ok := v[name]; !ok {
			f.fail("lacks %q, which is required", name)
		}
	}
	f.spend(len(n.required))
	f.dependents(v)
	if n.properties == nil && n.patternProperties == nil && n.additionalProperties == nil && n.propertyNames == nil {
		return
	}
	f.spend(len(v))
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if f.over() {
			return
		}
		f.member(name, v[name])
	}
}

func (f *frame) member(name string, v any) {
	n := f.n
	one, known := n.properties[name]
	if known {
		f.mustPart(one, v, f.at.member(name))
	}
	for _, p := range n.patternProperties {
		if f.spend(1) && p.matches(name, f.budget) {
			known = true
			f.mustPart(p.schema, v, f.at.member(name))
		}
	}
	if !known && n.additionalProperties != nil {
		known = true
		f.additional(n.additionalProperties, name, v)
	}
	if known {
		f.seen.member(name)
	}
	if n.propertyNames != nil {
		f.propertyName(name)
	}
}

// additional looks at a member that has no schema of its own, but one for all such.
func (f *frame) additional(n *node, name string, v any) {
	if !n.is(false) {
		f.mustPart(n, v, f.at.member(name))
		return
	}
	f.ok = false
	if !f.out.fullOfUnknown() {
		f.out.add(Fault{f.at.path(), fmt.Sprintf("has %q, which is not known", name), name, f.n})
	}
}

func (f *frame) propertyName(name string) {
	var out *faults
	if !f.out.full() {
		out = &faults{most: 1}
	}
	if !f.apply(f.n.propertyNames, name, nil, f.scope, 1, nil, out) {
		f.fail("has %q, whose name %s", name, out.first())
	}
}

// dependents looks at what the presence of members asks for.
func (f *frame) dependents(v map[string]any) {
	for _, group := range f.n.dependentSchemas {
		for _, name := range sorted(group) {
			if _, ok := v[name]; ok && !f.over() {
				f.mustSelf(group[name])
			}
		}
	}
	for _, name := range sorted(f.n.dependentRequired) {
		if _, ok := v[name]; !ok {
			continue
		}
		for _, other := range f.n.dependentRequired[name] {
			if _, ok := v[other]; !ok && f.spend(1) {
				f.fail("lacks %q, which is required where %q is", other, name)
			}
		}
	}
}

func (f *frame) array(v []any) {
	n := f.n
	f.within("Items", len(v), n.minItems, n.maxItems)
	if n.uniqueItems {
		if first, second := f.twins(v); second > 0 {
			f.refuse("items at %d and %d are equal", first, second)
		}
	}
	listed := min(len(n.prefix), len(v))
	last := len(v)
	if n.rest == nil {
		last = listed
	}
	for i, item := range v[:last] {
		if f.over() {
			return
		}
		switch {
		case i < listed:
			f.mustPart(n.prefix[i], item, f.at.element(i))
		case n.additionalItems == n.rest && n.rest.is(false):
			f.refuse("last %d additionalItem(s) not allowed", len(v)-listed)
			return
		default:
			f.mustPart(n.rest, item, f.at.element(i))
		}
		f.seen.element(i)
	}
	if n.contains != nil {
		f.holds(v)
	}
}

// holds counts the elements that contains asks for.
func (f *frame) holds(v []any) {
	n := f.n
	var matched []int
	for i, item := range v {
		if f.remaining >= 0 && f.part(n.contains, item, f.at.element(i), nil) {
			matched = append(matched, i)
			if n.draft >= draft2020 {
				f.seen.element(i)
			}
		}
	}
	switch {
	case n.minContains == nil && len(matched) == 0:
		f.refuse("no items match contains schema")
	case n.minContains != nil && len(matched) < *n.minContains:
		f.refuse("min %d items required to match contains schema, but %d match", *n.minContains, len(matched))
	}
	if n.maxContains != nil && len(matched) > *n.maxContains {
		f.refuse("max %d items required to match contains schema, but %d match", *n.maxContains, len(matched))
	}
}

// unevaluated looks at what no schema has, which cannot be told of what does not fit
// anyway: a schema that does not has evaluated nothing.
func (f *frame) unevaluated() {
	n := f.n
	if !f.ok {
		return
	}
	if v, ok := f.v.(map[string]any); ok && n.unevaluatedProperty != nil {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !f.seen.members[name] && !f.over() {
				f.additional(n.unevaluatedProperty, name, v[name])
				f.seen.member(name)
			}
		}
	}
	if v, ok := f.v.([]any); ok && n.unevaluatedItems != nil {
		for i, item := range v {
			if !f.seen.elements[i] && !f.over() {
				f.mustPart(n.unevaluatedItems, item, f.at.element(i))
				f.seen.element(i)
			}
		}
	}
}
