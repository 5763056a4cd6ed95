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

// Coerce converts texts to the type that the schema declares: "true" and "false" to a boolean, the text of a number to
// the number. Programs without a JSON library, such as shell scripts, print such texts. There is a warning for each. v
// is not changed.
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

// ofMember returns the schema of a member, if its name determines it; else nil.
func (n *node) ofMember(name string) *node {
	for n := range n.chain() {
		if one := cmp.Or(n.properties[name], n.additionalProperties); one != nil {
			return one
		}
	}
	return nil
}

// ofElement returns the schema of an element, if its index determines it; else nil.
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

// declared returns the types that a schema declares, or nil.
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

// A Property has the annotations of one property in a schema.
type Property struct {
	WriteOnly bool // never in a state
	Default   any  // in the form of [Value], or nil
	Declared  bool
}

// Property returns the annotations of a top-level property. A definition next to a $ref takes precedence over its
// target, in all drafts.
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
