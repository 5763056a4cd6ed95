package schema

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// keyword reads one keyword, and refuses what it may not be. What each may be is in the
// metaschemas of the drafts (json-schema.org).
func (c *compiler) keyword(n *node, key string, v any, at *place) {
	f := field{c, n, key, v, at}
	_ = f.core() || f.applicator() || f.values() || f.annotation() // of others nothing is known
}

// A field is a keyword and what is written for it.
type field struct {
	*compiler
	n   *node
	key string
	v   any
	at  *place
}

// core reads what schemas are named by and refer to each other with.
func (f field) core() bool {
	switch f.key {
	case "$ref":
		f.n.ref = f.reference()
	case "$recursiveRef":
		f.n.recursiveRef = f.reference()
	case "$dynamicRef":
		f.n.dynamicRef = f.reference()
	case "$dynamicAnchor":
		f.n.dynamicAnchor = f.anchor()
	case "$anchor":
		f.anchor()
	case "$recursiveAnchor":
		if f.n.draft == draft2020 { // where it is no more
			f.anchor()
		} else {
			f.flag()
		}
	case "id":
		f.text()
	case "$id":
		if id, ok := f.uriReference(); ok && f.n.draft >= draft2019 && strings.Trim(after(id, "#"), "#") != "" {
			f.refuse(f.at, "must have no fragment")
		}
	case "$schema":
		if f.n.at == nil { // of the whole it may be anything, with a warning
			f.text()
		} else {
			f.uri()
		}
	case "$vocabulary":
		f.vocabulary()
	case "$defs", "definitions":
		f.named()
	default:
		return false
	}
	return true
}

// applicator reads what applies schemas.
func (f field) applicator() bool {
	n := f.n
	switch f.key {
	case "allOf":
		n.allOf = f.list()
	case "anyOf":
		n.anyOf = f.list()
	case "oneOf":
		n.oneOf = f.list()
	case "not":
		n.not = f.schema()
	case "if":
		n.condition = f.schema()
	case "then":
		n.then = f.schema()
	case "else":
		n.els_ = f.schema()
	case "prefixItems":
		n.prefix = f.list()
	case "items":
		if _, ok := f.v.([]any); ok && n.draft < draft2020 {
			n.prefix = f.list()
		} else {
			n.rest = f.schema()
		}
	case "additionalItems":
		n.additionalItems = f.schema()
	case "contains":
		n.contains = f.schema()
	case "unevaluatedItems":
		n.unevaluatedItems = f.schema()
	case "properties":
		n.properties = f.named()
	case "patternProperties":
		n.patternProperties = f.byPattern()
	case "additionalProperties":
		n.additionalProperties = f.schema()
	case "propertyNames":
		n.propertyNames = f.schema()
	case "unevaluatedProperties":
		n.unevaluatedProperty = f.schema()
	case "dependentSchemas":
		f.dependentSchemas(f.named())
	case "dependencies":
		f.dependencies()
	default:
		return false
	}
	return true
}

// values reads what a value is held against by itself.
func (f field) values() bool {
	n := f.n
	switch f.key {
	case "type":
		n.types = f.types()
	case "const":
		n.equals = &f.v
	case "enum":
		n.isEnum, n.enum = true, f.choices()
	case "format":
		if format, _ := f.text(); n.draft < draft2019 { // later ones only tell of it
			n.format = format
		}
	case "multipleOf":
		if n.multipleOf = f.number(); n.multipleOf != nil && n.multipleOf.sign() <= 0 {
			f.refuse(f.at, "must be above 0")
		}
	case "minimum":
		n.minimum = f.number()
	case "maximum":
		n.maximum = f.number()
	case "exclusiveMinimum":
		n.above = f.exclusive()
	case "exclusiveMaximum":
		n.below = f.exclusive()
	case "pattern":
		if text, ok := f.text(); ok {
			p := f.pattern(text)
			n.pattern = &p
		}
	case "uniqueItems":
		n.uniqueItems = f.flag()
	case "required":
		n.required = f.names(f.v, f.at)
	case "dependentRequired":
		f.dependentRequired()
	default:
		return f.counts()
	}
	return true
}

func (f field) counts() bool {
	n := f.n
	switch f.key {
	case "minLength":
		n.minLength = f.count()
	case "maxLength":
		n.maxLength = f.count()
	case "minItems":
		n.minItems = f.count()
	case "maxItems":
		n.maxItems = f.count()
	case "minContains":
		n.minContains = f.count()
	case "maxContains":
		n.maxContains = f.count()
	case "minProperties":
		n.minProperties = f.count()
	case "maxProperties":
		n.maxProperties = f.count()
	default:
		return false
	}
	return true
}

// annotation reads what is for people.
func (f field) annotation() bool {
	switch f.key {
	case "title", "description", "$comment", "contentEncoding", "contentMediaType":
		f.text()
	case "readOnly", "writeOnly", "deprecated":
		f.flag()
	case "examples":
		f.array(false)
	case "contentSchema":
		f.schema()
	default:
		return false
	}
	return true
}

// is refuses what is of another type.
func (f field) is(ok bool, want string) bool {
	if !ok {
		f.refuse(f.at, "must be %s, not %s", want, kindOf(f.v))
	}
	return ok
}

func (f field) text() (string, bool) {
	text, ok := f.v.(string)
	return text, f.is(ok, "string")
}

func (f field) flag() bool {
	is, ok := f.v.(bool)
	f.is(ok, "boolean")
	return is
}

func (f field) number() *number {
	n, ok := numberOf(f.v)
	if !f.is(ok, "number") {
		return nil
	}
	return &n
}

// exclusive reads a bound. In draft 4 it is a flag, and the bound is elsewhere.
func (f field) exclusive() *number {
	if f.n.draft == draft4 {
		f.flag()
		return nil
	}
	return f.number()
}

func (f field) count() *int {
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
func (f field) array(some bool) []any {
	list, ok := f.v.([]any)
	if f.is(ok, "array") && some && len(list) == 0 {
		f.refuse(f.at, "must have an element")
	}
	return list
}

func (f field) object() map[string]any {
	object, ok := f.v.(map[string]any)
	f.is(ok, "object")
	return object
}

// schema reads a schema. true and false came with draft 6, but for what is additional.
func (f field) schema() *node {
	if b, ok := f.v.(bool); ok && f.n.draft == draft4 && strings.HasPrefix(f.key, "additional") {
		return &node{at: f.at, res: f.n.res, draft: draft4, boolean: &b}
	}
	return f.compiler.schema(f.v, f.at, f.n.res)
}

func (f field) list() []*node {
	var all []*node
	for i, v := range f.array(true) {
		all = append(all, f.compiler.schema(v, f.at.element(i), f.n.res))
	}
	return all
}

func (f field) named() map[string]*node {
	object := f.object()
	all := make(map[string]*node, len(object))
	for _, name := range sorted(object) {
		all[name] = f.compiler.schema(object[name], f.at.member(name), f.n.res)
	}
	return all
}

func (f field) byPattern() []patternProperty {
	named := f.named()
	var all []patternProperty
	for _, text := range sorted(named) {
		all = append(all, patternProperty{f.pattern(text), named[text]})
	}
	return all
}

func (f field) pattern(text string) pattern {
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

func (f field) types() []string {
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

func (f field) choices() []any {
	list := f.array(f.n.draft < draft2019)
	if f.n.draft < draft2019 {
		f.distinct(list, f.at)
	}
	return list
}

func (f field) distinct(list []any, at *place) {
	if first, second := (&budget{maxSteps}).twins(list); second > 0 {
		f.refuse(at, "has the elements %d and %d, which are equal", first, second)
	}
}

// names reads a list of names of properties.
func (f field) names(v any, at *place) []string {
	f.v, f.at = v, at
	list := f.array(f.n.draft == draft4)
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

func (f field) dependentRequired() {
	object := f.object()
	for _, name := range sorted(object) {
		f.requires(name, f.names(object[name], f.at.member(name)))
	}
}

func (f field) requires(name string, names []string) {
	if f.n.dependentRequired == nil {
		f.n.dependentRequired = map[string][]string{}
	}
	f.n.dependentRequired[name] = append(f.n.dependentRequired[name], names...)
}

// dependencies reads what later drafts have divided into two keywords.
func (f field) dependencies() {
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

func (f field) dependentSchemas(all map[string]*node) {
	f.n.dependentSchemas = append(f.n.dependentSchemas, all)
}

func (f field) uri() {
	if text, ok := f.text(); ok && !ofFormat("uri", text) {
		f.refuse(f.at, "must be a URI")
	}
}

func (f field) uriReference() (string, bool) {
	text, ok := f.text()
	if ok && f.n.draft >= draft6 && !ofFormat("uri-reference", text) {
		f.refuse(f.at, "must be a URI, or lead to one")
	}
	return text, ok
}

func (f field) reference() *reference {
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

func (f field) anchor() string {
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

func (f field) vocabulary() {
	for uri, v := range f.object() {
		if _, ok := v.(bool); !ok || !ofFormat("uri", uri) {
			f.refuse(f.at, "must give true or false for each URI")
		}
	}
}
