package schema

import (
	"fmt"
	"maps"
	"slices"
)

// evaluated are the members and elements that schemas have evaluated, by name and by index.
type evaluated map[any]bool

// add marks a part, if m is not nil.
func (m evaluated) add(part any) {
	if m != nil {
		m[part] = true
	}
}

func (n *node) tracksEvaluated() bool {
	return n.unevaluatedProperty != nil || n.unevaluatedItems != nil
}

func (f *frame) object(v map[string]any) {
	n := f.n
	f.inLimits("Properties", len(v))
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
		if f.done() {
			return
		}
		f.member(name, v[name])
	}
}

func (f *frame) member(name string, v any) {
	n := f.n
	one, known := n.properties[name]
	if known {
		f.mustAtChild(one, v, f.at.member(name))
	}
	for _, p := range n.patternProperties {
		if f.spend(1) && p.matches(name, f.budget) {
			known = true
			f.mustAtChild(p.schema, v, f.at.member(name))
		}
	}
	if !known && n.additionalProperties != nil {
		known = true
		f.additional(n.additionalProperties, name, v)
	}
	if known {
		f.seen.add(name)
	}
	if n.propertyNames != nil {
		f.propertyName(name)
	}
}

// additional checks a member without a schema of its own against the schema for such members.
func (f *frame) additional(n *node, name string, v any) {
	if !n.is(false) {
		f.mustAtChild(n, v, f.at.member(name))
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

// dependents checks the conditions that the presence of members imposes.
func (f *frame) dependents(v map[string]any) {
	for _, group := range f.n.dependentSchemas {
		for _, name := range sorted(group) {
			if _, ok := v[name]; ok && !f.done() {
				f.mustInPlace(group[name])
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
	f.inLimits("Items", len(v))
	if n.uniqueItems {
		if first, second := f.duplicates(v); second > 0 {
			f.refuse("items at %d and %d are equal", first, second)
		}
	}
	listed := min(len(n.prefix), len(v))
	last := len(v)
	if n.rest == nil {
		last = listed
	}
	for i, item := range v[:last] {
		if f.done() {
			return
		}
		switch {
		case i < listed:
			f.mustAtChild(n.prefix[i], item, f.at.element(i))
		case n.additionalItems == n.rest && n.rest.is(false):
			f.refuse("last %d additionalItem(s) not allowed", len(v)-listed)
			return
		default:
			f.mustAtChild(n.rest, item, f.at.element(i))
		}
		f.seen.add(i)
	}
	if n.contains != nil {
		f.contains(v)
	}
}

// contains counts the elements that match contains.
func (f *frame) contains(v []any) {
	n := f.n
	matched := 0
	for i, item := range v {
		if f.remaining >= 0 && f.atChild(n.contains, item, f.at.element(i), nil) {
			matched++
			if n.res.draft == draft2020 {
				f.seen.add(i)
			}
		}
	}
	switch least, says := n.counts["minContains"]; {
	case !says && matched == 0:
		f.refuse("no items match contains schema")
	case matched < least:
		f.refuse("min %d items required to match contains schema, but %d match", least, matched)
	}
	if most, says := n.counts["maxContains"]; says && matched > most {
		f.refuse("max %d items required to match contains schema, but %d match", most, matched)
	}
}

// unevaluated checks the members and elements that no schema has evaluated. A value that does not fit is skipped: none
// of its parts counts as evaluated.
func (f *frame) unevaluated() {
	n := f.n
	if !f.ok {
		return
	}
	if v, ok := f.v.(map[string]any); ok && n.unevaluatedProperty != nil {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !f.seen[name] && !f.done() {
				f.additional(n.unevaluatedProperty, name, v[name])
				f.seen.add(name)
			}
		}
	}
	if v, ok := f.v.([]any); ok && n.unevaluatedItems != nil {
		for i, item := range v {
			if !f.seen[i] && !f.done() {
				f.mustAtChild(n.unevaluatedItems, item, f.at.element(i))
				f.seen.add(i)
			}
		}
	}
}
