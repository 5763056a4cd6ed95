package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds how far references and nested values are followed.
const maxDepth = 64

// Coerce gives the value with texts turned into what the schema declares in their
// place: "true" and "false" into a boolean, the text of a number into that number.
// Programs without a JSON library, such as shell scripts, print such texts. The
// warnings tell of each. v is not changed.
func (s *Schema) Coerce(v any) (coerced any, warnings []string) {
	c := &coercion{Schema: s}
	return c.value(v, s.doc, "", 0), c.warnings
}

type coercion struct {
	*Schema
	warnings []string
}

func (c *coercion) value(v, schema any, path string, depth int) any {
	if depth > maxDepth {
		return v
	}
	node := c.resolve(schema)
	switch v := v.(type) {
	case map[string]any:
		return c.object(v, node, path, depth)
	case []any:
		items := node["items"]
		list := slices.Clone(v)
		for i := range list {
			list[i] = c.value(list[i], items, fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
		return list
	case string:
		return c.text(v, types(node), path)
	}
	return v
}

func (c *coercion) object(v map[string]any, node map[string]any, path string, depth int) any {
	known, _ := node["properties"].(map[string]any)
	changed := maps.Clone(v)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		schema, ok := known[name]
		if !ok {
			schema = node["additionalProperties"]
		}
		changed[name] = c.value(v[name], schema, strings.TrimPrefix(path+"."+name, "."), depth+1)
	}
	return changed
}

// text turns a text into what is declared, unless texts are.
func (c *coercion) text(v string, declared []string, path string) any {
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
	c.warnings = append(c.warnings, fmt.Sprintf("%s is a text where the schema has %s; it is taken for one", path, strings.Join(declared, " or ")))
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

// types are those that a schema declares; none if it declares none.
func types(node map[string]any) []string {
	switch t := node["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var all []string
		for _, item := range t {
			if name, ok := item.(string); ok {
				all = append(all, name)
			}
		}
		return all
	}
	return nil
}

// resolve follows references within the schema, and to those that are well known.
func (s *Schema) resolve(schema any) map[string]any {
	for range maxDepth {
		node, _ := schema.(map[string]any)
		ref, ok := node["$ref"].(string)
		if !ok {
			return node
		}
		if known := wellKnown(ref); known != nil {
			return known.(map[string]any)
		}
		pointer, ok := strings.CutPrefix(ref, "#")
		if !ok {
			return node
		}
		schema = s.at(pointer)
	}
	return nil
}

// at gives what is at a JSON pointer in the schema.
func (s *Schema) at(pointer string) any {
	v := s.doc
	if pointer == "" {
		return v
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// A Property is what a schema says of one property besides what it may be.
type Property struct {
	WriteOnly bool // no state has it
	Default   any  // as [Value] gives it; nil if there is none
	Declared  bool
}

// Property tells of a property at the top.
func (s *Schema) Property(name string) Property {
	if s == nil {
		return Property{}
	}
	known, _ := s.resolve(s.doc)["properties"].(map[string]any)
	schema, declared := known[name]
	node := s.resolve(schema)
	writeOnly, _ := node["writeOnly"].(bool)
	return Property{WriteOnly: writeOnly, Default: node["default"], Declared: declared}
}
