package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds how far references are followed, and nested values.
const maxDepth = 64

// Coerce gives the value with texts turned into what the schema declares in their
// place: "true" and "false" into a boolean, the text of a number into that number.
// Programs without a JSON library, such as shell scripts, print such texts. The
// warnings tell of each. v is not changed.
func (s *Schema) Coerce(v any) (coerced any, warnings []string) {
	c := &coercion{}
	return c.value(v, s.root, nil), c.warnings
}

type coercion struct{ warnings []string }

func (c *coercion) value(v any, n *node, at *location) any {
	if at.levels() > maxDepth {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		changed := maps.Clone(v)
		for _, name := range sorted(v) {
			changed[name] = c.value(v[name], n.ofMember(name), at.member(name))
		}
		return changed
	case []any:
		list := slices.Clone(v)
		for i := range list {
			list[i] = c.value(list[i], n.ofElement(i), at.element(i))
		}
		return list
	case string:
		return c.text(v, n.declared(), at)
	}
	return v
}

// ofMember is the schema of a member, as far as it is told apart by name; else nil.
func (n *node) ofMember(name string) *node {
	for n := range n.chain() {
		if one := cmp.Or(n.properties[name], n.additionalProperties); one != nil {
			return one
		}
	}
	return nil
}

// ofElement is the schema of an element, as far as it is told apart by its place; else nil.
func (n *node) ofElement(i int) *node {
	for n := range n.chain() {
		switch {
		case i < len(n.prefix):
			return n.prefix[i]
		case n.rest != nil:
			return n.rest
		}
	}
	return nil
}

// declared are the types that a schema declares; none if it declares none.
func (n *node) declared() []string {
	for n := range n.chain() {
		if n.types != nil {
			return n.types
		}
	}
	return nil
}

// text turns a text into a value of a declared type, unless string is declared.
func (c *coercion) text(v string, declared []string, at *location) any {
	has := func(name string) bool { return slices.Contains(declared, name) }
	var better any
	switch {
	case has("string"):
	case has("boolean") && (v == "true" || v == "false"):
		better = v == "true"
	case has("integer") && isInteger(v), has("number") && isNumber(v):
		better = json.Number(v)
	}
	if better == nil {
		return v
	}
	c.warnings = append(c.warnings, fmt.Sprintf("%s is a text where the schema has %s; it is taken for one", at.path(), strings.Join(declared, " or ")))
	return better
}

func isInteger(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil && json.Valid([]byte(s))
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && json.Valid([]byte(s))
}

// A Property is what a schema says of one property besides what it may be.
type Property struct {
	WriteOnly bool // no state has it
	Default   any  // as [Value] gives it; nil if there is none
	Declared  bool
}

// Property tells of a property at the top. What stands next to a $ref counts before what
// it leads to, in all drafts.
func (s *Schema) Property(name string) Property {
	if s == nil {
		return Property{}
	}
	for top := range s.root.chain() {
		if one, declared := top.properties[name]; declared {
			return one.property()
		}
	}
	return Property{}
}

func (n *node) property() Property {
	p := Property{Declared: true}
	for n := range n.chain() {
		object, _ := n.raw.(map[string]any)
		writeOnly, _ := object["writeOnly"].(bool)
		p.WriteOnly = p.WriteOnly || writeOnly
		if p.Default == nil {
			p.Default = object["default"]
		}
	}
	return p
}
