package schema

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// maxNested limits the nesting of schemas.
const maxNested = 500

// A compiler turns a document into nodes: first every value in the place of a schema, then the references in schemas
// that are applied.
type compiler struct {
	*Schema
	keywords  []keyword
	nodes     map[uintptr]*node // by the map that each was decoded into
	resources map[string]*resource
	patterns  map[string]pattern
	parts     int // remaining number for further patterns
	wrong     []string
	drafts    []string // warnings about $schema, which may explain the errors
}

func compileRoot(s *Schema, doc any) (*node, error) {
	c := &compiler{s, keywords(), map[uintptr]*node{}, map[string]*resource{}, map[string]pattern{}, maxPatterns, nil, nil}
	root := c.document(here, doc)
	c.link(root)
	if len(c.wrong) > 0 {
		return nil, errors.New(strings.Join(append(c.wrong, c.drafts...), "; "))
	}
	return root, nil
}

// document reads a whole document.
func (c *compiler) document(uri string, v any) *node {
	res := &resource{id: uri, draft: draft2020, anchors: map[string]*node{}, dynamic: map[string]*node{}}
	c.resources[uri] = res
	root := c.schema(v, nil, res)
	if res.root == nil { // true or false, which have no keywords
		res.root = root
	}
	return root
}

// refuse records an error in the document.
func (c *compiler) refuse(at *location, format string, args ...any) {
	if len(c.wrong) >= maxFaults {
		return
	}
	text := "it " + fmt.Sprintf(format, args...)
	if at != nil {
		text = at.pointer() + strings.TrimPrefix(text, "it")
	}
	if !slices.Contains(c.wrong, text) {
		c.wrong = append(c.wrong, text)
	}
}

// schema reads a value in the place of a schema.
func (c *compiler) schema(v any, at *location, in *resource) *node {
	n := &node{at: at, raw: v, res: in}
	switch v := v.(type) {
	case bool:
		n.boolean = &v
	case map[string]any:
		if known := c.nodes[identity(v)]; known != nil {
			return known
		}
		c.nodes[identity(v)] = n
		if at.levels() > maxNested {
			c.refuse(nil, "is nested deeper than %d", maxNested)
			return n
		}
		c.object(n, v)
	default:
		c.refuse(at, "must be object or boolean, not %s", kindOf(v))
	}
	return n
}

// identity identifies an object of a document: each is decoded into a map of its own.
func identity(object map[string]any) uintptr { return reflect.ValueOf(object).Pointer() }

func (c *compiler) object(n *node, object map[string]any) {
	c.name(n, object)
	for _, key := range sorted(object) {
		at := slices.IndexFunc(c.keywords, func(k keyword) bool { return k.name == key && k.in(n.res.draft) })
		if at >= 0 {
			c.keywords[at].read(&field{c, n, key, object[key], n.at.member(key)})
		}
	}
	c.reconcile(n, object)
}

// reconcile does what depends on more than one keyword.
func (c *compiler) reconcile(n *node, object map[string]any) {
	if n.condition == nil || n.condition.is(false) { // a schema that is never applied may refer to anything
		n.then = nil
	}
	if n.condition == nil || n.condition.is(true) {
		n.otherwise = nil
	}
	if _, ok := object["items"].([]any); ok { // without such a list it has no effect
		n.rest = n.additionalItems
	}
	if n.res.draft == draft7 && n.ref != nil { // its neighbours are ignored
		*n = node{at: n.at, raw: n.raw, res: n.res, ref: n.ref}
	}
}

// link resolves the references of n and of all schemas that are applied with it.
func (c *compiler) link(n *node) {
	todo := []*node{n}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n == nil || n.linked {
			continue
		}
		n.linked = true
		for _, r := range n.references() {
			r.to = c.target(n, r)
			todo = append(todo, r.to)
		}
		todo = append(append(todo, n.subschemas()...), n.res.root)
		if n == n.res.root {
			todo = slices.AppendSeq(todo, maps.Values(n.res.dynamic))
		}
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
