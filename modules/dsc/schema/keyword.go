package schema

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A keyword is a keyword of schemas.
type keyword struct {
	name string
	only draft        // which draft knows it; 0 is both
	read func(*field) // refuses invalid values, by the metaschemas (json-schema.org)
}

// keywords returns all known keywords.
func keywords() []keyword {
	return []keyword{
		// Keywords that name schemas, and refer to them.
		{name: "$ref", read: func(f *field) { f.n.ref = f.reference() }},
		{name: "$dynamicRef", only: draft2020, read: func(f *field) { f.n.dynamicRef = f.reference() }},
		{name: "$dynamicAnchor", only: draft2020, read: func(f *field) { f.n.dynamicAnchor = f.anchor() }},
		{name: "$anchor", only: draft2020, read: func(f *field) { f.anchor() }},
		{name: "$id", read: (*field).id},
		{name: "$schema", read: (*field).metaschema},
		{name: "$vocabulary", only: draft2020, read: (*field).vocabulary},
		{name: "$defs", only: draft2020, read: func(f *field) { f.named() }},
		{name: "definitions", read: func(f *field) { f.named() }},

		// Keywords that apply schemas.
		{name: "allOf", read: func(f *field) { f.n.allOf = f.list() }},
		{name: "anyOf", read: func(f *field) { f.n.anyOf = f.list() }},
		{name: "oneOf", read: func(f *field) { f.n.oneOf = f.list() }},
		{name: "not", read: func(f *field) { f.n.not = f.schema() }},
		{name: "if", read: func(f *field) { f.n.condition = f.schema() }},
		{name: "then", read: func(f *field) { f.n.then = f.schema() }},
		{name: "else", read: func(f *field) { f.n.otherwise = f.schema() }},
		{name: "prefixItems", only: draft2020, read: func(f *field) { f.n.prefix = f.list() }},
		{name: "items", read: (*field).items},
		{name: "additionalItems", only: draft7, read: func(f *field) { f.n.additionalItems = f.schema() }},
		{name: "contains", read: func(f *field) { f.n.contains = f.schema() }},
		{name: "unevaluatedItems", only: draft2020, read: func(f *field) { f.n.unevaluatedItems = f.schema() }},
		{name: "properties", read: func(f *field) { f.n.properties = f.named() }},
		{name: "patternProperties", read: func(f *field) { f.n.patternProperties = f.byPattern() }},
		{name: "additionalProperties", read: func(f *field) { f.n.additionalProperties = f.schema() }},
		{name: "propertyNames", read: func(f *field) { f.n.propertyNames = f.schema() }},
		{name: "unevaluatedProperties", only: draft2020, read: func(f *field) { f.n.unevaluatedProperty = f.schema() }},
		{name: "dependentSchemas", only: draft2020, read: func(f *field) { f.dependentSchemas(f.named()) }},
		{name: "dependencies", read: (*field).dependencies},

		// Keywords that check the value itself.
		{name: "type", read: func(f *field) { f.n.types = f.types() }},
		{name: "const", read: func(f *field) { f.n.equals = newValues([]any{f.v}) }},
		{name: "enum", read: func(f *field) { f.n.enum = newValues(f.choices()) }},
		{name: "format", read: (*field).format},
		{name: "pattern", read: (*field).onePattern},
		{name: "uniqueItems", read: func(f *field) { f.n.uniqueItems = f.flag() }},
		{name: "required", read: func(f *field) { f.n.required = f.names(f.v, f.at) }},
		{name: "dependentRequired", only: draft2020, read: (*field).dependentRequired},
		{name: "multipleOf", read: (*field).multipleOf},
		{name: "minimum", read: (*field).bound},
		{name: "maximum", read: (*field).bound},
		{name: "exclusiveMinimum", read: (*field).bound},
		{name: "exclusiveMaximum", read: (*field).bound},
		{name: "minLength", read: (*field).count},
		{name: "maxLength", read: (*field).count},
		{name: "minItems", read: (*field).count},
		{name: "maxItems", read: (*field).count},
		{name: "minContains", only: draft2020, read: (*field).count},
		{name: "maxContains", only: draft2020, read: (*field).count},
		{name: "minProperties", read: (*field).count},
		{name: "maxProperties", read: (*field).count},

		// Keywords for people.
		{name: "title", read: func(f *field) { f.text() }},
		{name: "description", read: func(f *field) { f.text() }},
		{name: "$comment", read: func(f *field) { f.text() }},
		{name: "contentEncoding", read: func(f *field) { f.text() }},
		{name: "contentMediaType", read: func(f *field) { f.text() }},
		{name: "contentSchema", only: draft2020, read: func(f *field) { f.schema() }},
		{name: "readOnly", read: func(f *field) { f.flag() }},
		{name: "writeOnly", read: func(f *field) { f.flag() }},
		{name: "deprecated", only: draft2020, read: func(f *field) { f.flag() }},
		{name: "examples", read: func(f *field) { f.array(false) }},
	}
}

// in reports whether the keyword means something in a draft.
func (k keyword) in(d draft) bool {
	return k.only == 0 || k.only == d
}

// A field is a keyword in a schema, with its value.
type field struct {
	*compiler
	n   *node
	key string
	v   any
	at  *location
}

func (f *field) id() {
	if id, ok := f.uriReference(); ok && f.n.res.draft == draft2020 && strings.Trim(after(id, "#"), "#") != "" {
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
	if _, ok := f.v.([]any); ok && f.n.res.draft == draft7 {
		f.n.prefix = f.list()
	} else {
		f.n.rest = f.schema()
	}
}

func (f *field) format() {
	if format, _ := f.text(); f.n.res.draft == draft7 { // only an annotation in the later draft
		f.n.format = format
	}
}

func (f *field) multipleOf() {
	n, ok := f.number()
	if ok && n.sign() <= 0 {
		f.refuse(f.at, "must be above 0")
	}
	f.n.multipleOf = &n
}

func (f *field) bound() {
	if f.n.bounds == nil {
		f.n.bounds = map[string]number{}
	}
	f.n.bounds[f.key], _ = f.number()
}

func (f *field) onePattern() {
	if text, ok := f.text(); ok {
		p := f.pattern(text)
		f.n.pattern = &p
	}
}

// is refuses a value of another type.
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

func (f *field) number() (number, bool) {
	n, ok := numberOf(f.v)
	return n, f.is(ok, "number")
}

// count reads a limit of lengths and counts. One beyond all counts is the greatest.
func (f *field) count() {
	n, ok := numberOf(f.v)
	switch {
	case !f.is(ok, "integer"):
		return
	case !n.isWhole() || n.negative:
		f.refuse(f.at, "must be a whole number from 0 on, not %v", f.v)
		return
	case f.n.counts == nil:
		f.n.counts = map[string]int{}
	}
	f.n.counts[f.key] = n.count()
}

// array reads a list; with some it must not be empty.
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

func (f *field) schema() *node { return f.compiler.schema(f.v, f.at, f.n.res) }

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

// typeNames are all types, in the order in which a schema's types are reported.
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
	inSeven := f.n.res.draft == draft7
	list := f.array(inSeven)
	if inSeven {
		f.distinct(list, f.at)
	}
	return list
}

func (f *field) distinct(list []any, at *location) {
	if first, second := (&budget{maxSteps}).duplicates(list); second > 0 {
		f.refuse(at, "has the elements %d and %d, which are equal", first, second)
	}
}

// names reads a list of names of properties.
func (f *field) names(v any, at *location) []string {
	g := *f
	g.v, g.at = v, at
	list := g.array(false)
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

// dependencies reads what draft 2020-12 has divided into two keywords.
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
	if ok && !ofFormat("uri-reference", text) {
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

var anchorName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`) })

func (f *field) anchor() string {
	name, ok := f.text()
	if ok && !anchorName().MatchString(name) {
		f.refuse(f.at, "must match %s", anchorName())
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
