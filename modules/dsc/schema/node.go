package schema

import (
	"iter"
	"maps"
	"slices"
)

// A node is one schema of a document: an object of keywords, or true or false, which accept everything and nothing. The
// zero value of a keyword means that it is not set.
type node struct {
	at      *location
	raw     any
	res     *resource
	boolean *bool
	linked  bool

	ref, dynamicRef *reference
	dynamicAnchor   string

	types        []string // in the order of reports
	equals, enum *values  // const and enum
	format       string
	pattern      *pattern
	counts       map[string]int    // minLength, maxItems and the like
	bounds       map[string]number // minimum, exclusiveMaximum and the like
	multipleOf   *number

	uniqueItems                bool
	prefix                     []*node // prefixItems; of draft 7 items, if that is a list
	rest                       *node   // the elements after those
	additionalItems            *node   // becomes rest
	contains, unevaluatedItems *node

	required                                                 []string
	properties                                               map[string]*node
	dependentSchemas                                         []map[string]*node // dependencies and dependentSchemas
	dependentRequired                                        map[string][]string
	patternProperties                                        []patternProperty
	additionalProperties, propertyNames, unevaluatedProperty *node

	allOf, anyOf, oneOf             []*node
	not, condition, then, otherwise *node
}

type patternProperty struct {
	pattern
	schema *node
}

// A reference leads from one schema to another.
type reference struct {
	text   string
	at     *location
	to     *node
	anchor string // the name in a $dynamicRef; "" if it has none
}

// A resource is a schema with a name of its own, and the base of the references in it.
type resource struct {
	id      string // an absolute URI without fragment
	root    *node
	draft   draft
	anchors map[string]*node
	dynamic map[string]*node // $dynamicAnchor
}

// is reports whether n is simply true, or simply false.
func (n *node) is(b bool) bool { return n.boolean != nil && *n.boolean == b }

// subschemas returns the schemas that are applied along with n, except by references.
func (n *node) subschemas() []*node {
	var all []*node
	for _, list := range [][]*node{n.prefix, n.allOf, n.anyOf, n.oneOf,
		{n.rest, n.contains, n.unevaluatedItems, n.additionalProperties, n.propertyNames, n.unevaluatedProperty, n.not, n.condition, n.then, n.otherwise}} {
		all = append(all, list...)
	}
	for _, group := range append(n.dependentSchemas, n.properties) {
		for _, name := range sorted(group) {
			all = append(all, group[name])
		}
	}
	for _, p := range n.patternProperties {
		all = append(all, p.schema)
	}
	return all
}

func (n *node) references() []*reference {
	var all []*reference
	for _, r := range []*reference{n.ref, n.dynamicRef} {
		if r != nil {
			all = append(all, r)
		}
	}
	return all
}

// members gathers the names of properties of n and of all schemas that are applied in
// place.
func (n *node) members(names map[string]bool, seen map[*node]bool) {
	if n == nil || seen[n] {
		return
	}
	seen[n] = true
	for name := range n.properties {
		names[name] = true
	}
	same := slices.Concat(n.allOf, n.anyOf, n.oneOf, []*node{n.condition, n.then, n.otherwise})
	for _, group := range n.dependentSchemas {
		same = slices.AppendSeq(same, maps.Values(group))
	}
	for _, r := range n.references() {
		same = append(same, r.to)
	}
	for _, other := range same {
		other.members(names, seen)
	}
}

// chain yields n and the targets of its $ref, one after the other.
func (n *node) chain() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for range maxDepth {
			if n == nil || !yield(n) || n.ref == nil {
				return
			}
			n = n.ref.to
		}
	}
}
