package schema

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A keyword is what a schema may say of values.
type keyword struct {
	name        string
	since, last draft        // which drafts know it; 0 is the first and the latest
	read        func(*field) // refuses what it may not be, which the metaschemas tell (json-schema.org)
}

// keywords are all that anything is known of.
func keywords() []keyword {
	return []keyword{
		// What schemas are named by, and refer to each other with.
		{name: "$ref", read: func(f *field) { f.n.ref = f.reference() }},
		{name: "$recursiveRef", since: draft2019, read: func(f *field) { f.n.recursiveRef = f.reference() }},
		{name: "$dynamicRef", since: draft2020, read: func(f *field) { f.n.dynamicRef = f.reference() }},
		{name: "$dynamicAnchor", since: draft2020, read: func(f *field) { f.n.dynamicAnchor = f.anchor() }},
		{name: "$anchor", since: draft2019, read: func(f *field) { f.anchor() }},
		{name: "$recursiveAnchor", since: draft2019, read: (*field).recursiveAnchor},
		{name: "id", last: draft4, read: func(f *field) { f.text() }},
		{name: "$id", since: draft6, read: (*field).id},
		{name: "$schema", read: (*field).metaschema},
		{name: "$vocabulary", since: draft2019, read: (*field).vocabulary},
		{name: "$defs", since: draft2019, read: func(f *field) { f.named() }},
		{name: "definitions", read: func(f *field) { f.named() }},

		// What applies schemas.
		{name: "allOf", read: func(f *field) { f.n.allOf = f.list() }},
		{name: "anyOf", read: func(f *field) { f.n.anyOf = f.list() }},
		{name: "oneOf", read: func(f *field) { f.n.oneOf = f.list() }},
		{name: "not", read: func(f *field) { f.n.not = f.schema() }},
		{name: "if", since: draft7, read: func(f *field) { f.n.condition = f.schema() }},
		{name: "then", since: draft7, read: func(f *field) { f.n.then = f.schema() }},
		{name: "else", since: draft7, read: func(f *field) { f.n.els_ = f.schema() }},
		{name: "prefixItems", since: draft2020, read: func(f *field) { f.n.prefix = f.list() }},
		{name: "items", read: (*field).items},
		{name: "additionalItems", last: draft2019, read: func(f *field) { f.n.additionalItems = f.schema() }},
		{name: "contains", since: draft6, read: func(f *field) { f.n.contains = f.schema() }},
		{name: "unevaluatedItems", since: draft2019, read: func(f *field) { f.n.unevaluatedItems = f.schema() }},
		{name: "properties", read: func(f *field) { f.n.properties = f.named() }},
		{name: "patternProperties", read: func(f *field) { f.n.patternProperties = f.byPattern() }},
		{name: "additionalProperties", read: func(f *field) { f.n.additionalProperties = f.schema() }},
		{name: "propertyNames", since: draft6, read: func(f *field) { f.n.propertyNames = f.schema() }},
		{name: "unevaluatedProperties", since: draft2019, read: func(f *field) { f.n.unevaluatedProperty = f.schema() }},
		{name: "dependentSchemas", since: draft2019, read: func(f *field) { f.dependentSchemas(f.named()) }},
		{name: "dependencies", read: (*field).dependencies},

		// What a value is held against by itself.
		{name: "type", read: func(f *field) { f.n.types = f.types() }},
		{name: "const", since: draft6, read: func(f *field) { f.n.equals = &f.v }},
		{name: "enum", read: func(f *field) { f.n.isEnum, f.n.enum = true, f.choices() }},
		{name: "format", read: (*field).format},
		{name: "multipleOf", read: (*field).multipleOf},
		{name: "minimum", read: func(f *field) { f.n.minimum = f.number() }},
		{name: "maximum", read: func(f *field) { f.n.maximum = f.number() }},
		{name: "exclusiveMinimum", read: func(f *field) { f.n.above = f.exclusive() }},
		{name: "exclusiveMaximum", read: func(f *field) { f.n.below = f.exclusive() }},
		{name: "pattern", read: (*field).onePattern},
		{name: "uniqueItems", read: func(f *field) { f.n.uniqueItems = f.flag() }},
		{name: "required", read: func(f *field) { f.n.required = f.names(f.v, f.at) }},
		{name: "dependentRequired", since: draft2019, read: (*field).dependentRequired},
		{name: "minLength", read: func(f *field) { f.n.minLength = f.count() }},
		{name: "maxLength", read: func(f *field) { f.n.maxLength = f.count() }},
		{name: "minItems", read: func(f *field) { f.n.minItems = f.count() }},
		{name: "maxItems", read: func(f *field) { f.n.maxItems = f.count() }},
		{name: "minContains", since: draft2019, read: func(f *field) { f.n.minContains = f.count() }},
		{name: "maxContains", since: draft2019, read: func(f *field) { f.n.maxContains = f.count() }},
		{name: "minProperties", read: func(f *field) { f.n.minProperties = f.count() }},
		{name: "maxProperties", read: func(f *field) { f.n.maxProperties = f.count() }},

		// What is for people.
		{name: "title", read: func(f *field) { f.text() }},
		{name: "description", read: func(f *field) { f.text() }},
		{name: "$comment", since: draft7, read: func(f *field) { f.text() }},
		{name: "contentEncoding", since: draft7, read: func(f *field) { f.text() }},
		{name: "contentMediaType", since: draft7, read: func(f *field) { f.text() }},
		{name: "contentSchema", since: draft2019, read: func(f *field) { f.schema() }},
		{name: "readOnly", since: draft7, read: func(f *field) { f.flag() }},
		{name: "writeOnly", since: draft7, read: func(f *field) { f.flag() }},
		{name: "deprecated", since: draft2019, read: func(f *field) { f.flag() }},
		{name: "examples", since: draft7, read: func(f *field) { f.array(false) }},
	}
}

// in reports whether the keyword means something in a draft.
func (k keyword) in(d draft) bool {
	return k.read != nil && d >= k.since && (k.last == 0 || d <= k.last)
}

// A field is a keyword and what is written for it.
type field struct {
	*compiler
	n   *node
	key string
	v   any
	at  *place
}

func (f *field) recursiveAnchor() {
	if f.n.draft == draft2020 { // where it is no more
		f.anchor()
	} else {
		f.flag()
	}
}

func (f *field) id() {
	if id, ok := f.uriReference(); ok && f.n.draft >= draft2019 && strings.Trim(after(id, "#"), "#") != "" {
		f.refuse(f.at, "must have no fragment")
	}
}

func (f *field) metaschema() {
	text, ok := f.text()
	if ok && f.n.at != nil && !ofFormat("uri", text) { // of the whole it may be anything, with a warning
		f.refuse(f.at, "must be a URI")
	}
}

func (f *field) items() {
	if _, ok := f.v.([]any); ok && f.n.draft < draft2020 {
		f.n.prefix = f.list()
	} else {
		f.n.rest = f.schema()
	}
}

func (f *field) format() {
	if format, _ := f.text(); f.n.draft < draft2019 { // later drafts only tell of it
		f.n.format = format
	}
}

func (f *field) multipleOf() {
	if f.n.multipleOf = f.number(); f.n.multipleOf != nil && f.n.multipleOf.sign() <= 0 {
		f.refuse(f.at, "must be above 0")
	}
}

func (f *field) onePattern() {
	if text, ok := f.text(); ok {
		p := f.pattern(text)
		f.n.pattern = &p
	}
}

// is refuses what is of another type.
func (f *field) is(ok bool, want string) bool {
	if !ok {
		f.refuse(f.at, "must be %s, not %s", want, kindOf(f.v))
	}
	return ok
}

func (f *field) text() (string, bool) {
	text, ok := f.v.(string)
	return text, f.is(ok, "string")
}

func (f *field) flag() bool {
	is, ok := f.v.(bool)
	f.is(ok, "boolean")
	return is
}

func (f *field) number() *number {
	n, ok := numberOf(f.v)
	if !f.is(ok, "number") {
		return nil
	}
	return &n
}

// exclusive reads a bound. In draft 4 it is a flag, and the bound is elsewhere.
func (f *field) exclusive() *number {
	if f.n.draft == draft4 {
		f.flag()
		return nil
	}
	return f.number()
}

func (f *field) count() *int {
	if !f.is(kindOf(f.v) == "number", "integer") {
		return nil
	}
	most, ok := count(f.v)
	if !ok {
		f.refuse(f.at, "must be a whole number from 0 on, not %v", f.v)
		return nil
	}
	return &most
}

// array reads a list, which may have to have something in it.
func (f *field) array(some bool) []any {
	list, ok := f.v.([]any)
	if f.is(ok, "array") && some && len(list) == 0 {
		f.refuse(f.at, "must have an element")
	}
	return list
}

func (f *field) object() map[string]any {
	object, ok := f.v.(map[string]any)
	f.is(ok, "object")
	return object
}

// schema reads a schema. true and false came with draft 6, but for what is additional.
func (f *field) schema() *node {
	if b, ok := f.v.(bool); ok && f.n.draft == draft4 && strings.HasPrefix(f.key, "additional") {
		return &node{at: f.at, res: f.n.res, draft: draft4, boolean: &b}
	}
	return f.compiler.schema(f.v, f.at, f.n.res)
}

func (f *field) list() []*node {
	var all []*node
	for i, v := range f.array(true) {
		all = append(all, f.compiler.schema(v, f.at.element(i), f.n.res))
	}
	return all
}

func (f *field) named() map[string]*node {
	object := f.object()
	all := make(map[string]*node, len(object))
	for _, name := range sorted(object) {
		all[name] = f.compiler.schema(object[name], f.at.member(name), f.n.res)
	}
	return all
}

func (f *field) byPattern() []patternProperty {
	named := f.named()
	var all []patternProperty
	for _, text := range sorted(named) {
		all = append(all, patternProperty{f.pattern(text), named[text]})
	}
	return all
}

func (f *field) pattern(text string) pattern {
	p, ok := f.patterns[text]
	if ok {
		return p
	}
	p, understood := parsePattern(text, f.parts)
	if understood {
		f.parts -= p.size
	} else {
		f.warn("the schema has the pattern %q, which is not understood and not looked at", text)
	}
	f.patterns[text] = p
	return p
}

// typeNames are all types, in the order in which those of a schema are told.
var typeNames = [...]string{"null", "boolean", "number", "integer", "string", "array", "object"}

func (f *field) types() []string {
	list, isList := f.v.([]any)
	if _, ok := f.v.(string); ok {
		list = []any{f.v}
	} else if !f.is(isList, "string or array") {
		return nil
	}
	if len(list) == 0 {
		f.refuse(f.at, "must have an element")
	}
	given := map[string]bool{}
	for i, v := range list {
		at := f.at
		if isList {
			at = at.element(i)
		}
		name, _ := v.(string)
		if !slices.Contains(typeNames[:], name) {
			f.refuse(at, "must be one of %s", strings.Join(typeNames[:], ", "))
		} else if given[name] {
			f.refuse(at, "is there twice")
		}
		given[name] = true
	}
	return slices.DeleteFunc(slices.Clone(typeNames[:]), func(name string) bool { return !given[name] })
}

func (f *field) choices() []any {
	list := f.array(f.n.draft < draft2019)
	if f.n.draft < draft2019 {
		f.distinct(list, f.at)
	}
	return list
}

func (f *field) distinct(list []any, at *place) {
	if first, second := (&budget{maxSteps}).twins(list); second > 0 {
		f.refuse(at, "has the elements %d and %d, which are equal", first, second)
	}
}

// names reads a list of names of properties.
func (f *field) names(v any, at *place) []string {
	g := *f
	g.v, g.at = v, at
	list := g.array(f.n.draft == draft4)
	var names []string
	for i, v := range list {
		name, ok := v.(string)
		if !ok {
			f.refuse(at.element(i), "must be string, not %s", kindOf(v))
		}
		names = append(names, name)
	}
	f.distinct(list, at)
	return names
}

func (f *field) dependentRequired() {
	object := f.object()
	for _, name := range sorted(object) {
		f.requires(name, f.names(object[name], f.at.member(name)))
	}
}

func (f *field) requires(name string, names []string) {
	if f.n.dependentRequired == nil {
		f.n.dependentRequired = map[string][]string{}
	}
	f.n.dependentRequired[name] = append(f.n.dependentRequired[name], names...)
}

// dependencies reads what later drafts have divided into two keywords.
func (f *field) dependencies() {
	object := f.object()
	schemas := map[string]*node{}
	for _, name := range sorted(object) {
		at := f.at.member(name)
		if _, ok := object[name].([]any); ok {
			f.requires(name, f.names(object[name], at))
		} else {
			schemas[name] = f.compiler.schema(object[name], at, f.n.res)
		}
	}
	f.dependentSchemas(schemas)
}

func (f *field) dependentSchemas(all map[string]*node) {
	f.n.dependentSchemas = append(f.n.dependentSchemas, all)
}

func (f *field) uriReference() (string, bool) {
	text, ok := f.text()
	if ok && f.n.draft >= draft6 && !ofFormat("uri-reference", text) {
		f.refuse(f.at, "must be a URI, or lead to one")
	}
	return text, ok
}

func (f *field) reference() *reference {
	text, ok := f.uriReference()
	if !ok {
		return nil
	}
	return &reference{text: text, at: f.at}
}

// anchorNames are what an anchor may be called, in 2019-09 and since.
var anchorNames = sync.OnceValues(func() (older, newer *regexp.Regexp) {
	return regexp.MustCompile(`^[A-Za-z][-A-Za-z0-9.:_]*$`), regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`)
})

func (f *field) anchor() string {
	name, ok := f.text()
	allowed, newer := anchorNames()
	if f.n.draft >= draft2020 {
		allowed = newer
	}
	if ok && !allowed.MatchString(name) {
		f.refuse(f.at, "must match %s", allowed)
	}
	return name
}

func (f *field) vocabulary() {
	for uri, v := range f.object() {
		if _, ok := v.(bool); !ok || !ofFormat("uri", uri) {
			f.refuse(f.at, "must give true or false for each URI")
		}
	}
}
