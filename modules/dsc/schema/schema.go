package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A Schema describes the properties of a resource.
type Schema struct {
	doc      any // as decoded, for what a validator does not tell
	compiled *jsonschema.Schema
	warnings []string
}

// Value decodes JSON so that numbers keep their text: objects are map[string]any,
// lists []any, numbers json.Number.
func Value(doc []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

// drafts are the values of $schema that a validator knows. That of an unknown one is
// left out.
var drafts = regexp.MustCompile(`^https?://json-schema\.org/(draft-0[467]|draft/(2019-09|2020-12))/schema#?$`)

// here is what a schema without $id is called.
const here = "urn:dsc:instance"

// Compile reads a schema.
func Compile(doc json.RawMessage) (*Schema, error) {
	v, err := Value(doc)
	if err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	s := &Schema{doc: v}
	if top, ok := v.(map[string]any); ok {
		if uri, ok := top["$schema"].(string); ok && !drafts.MatchString(uri) {
			s.warn("the schema's $schema is %q, which is not known; it is read as draft 2020-12", uri)
			delete(top, "$schema")
		}
	}
	s.cut(v, 0)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader((*loader)(s))
	c.UseRegexpEngine(s.regexp)
	if err := c.AddResource(here, v); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	if s.compiled, err = c.Compile(here); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %s", oneLine(err))
	}
	return s, nil
}

// oneLine is the text of an error of the validator, which may have several.
func oneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' })
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], " -")
	}
	return strings.Join(lines, "; ")
}

// Warnings tell what in the schema had to be left out.
func (s *Schema) Warnings() []string { return s.warnings }

func (s *Schema) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.warnings, text) {
		s.warnings = append(s.warnings, text)
	}
}

// loader gives the schemas that a schema refers to.
type loader Schema

// Load implements [jsonschema.URLLoader]. It reaches neither network nor files.
func (l *loader) Load(url string) (any, error) {
	if v := wellKnown(url); v != nil {
		return v, nil
	}
	(*Schema)(l).warn("the schema refers to %s, which is not fetched: anything is accepted there", url)
	return true, nil
}

// regexp makes a pattern that Go does not know, such as one that looks ahead, match
// everything.
func (s *Schema) regexp(pattern string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		s.warn("the schema has the pattern %q, which is not understood and not looked at", pattern)
		return anyText(pattern), nil
	}
	return re, nil
}

type anyText string

func (anyText) MatchString(string) bool { return true }
func (p anyText) String() string        { return string(p) }

// cut removes references into schemas of others: into one that is not there, a
// validator could not even look.
func (s *Schema) cut(v any, depth int) {
	if depth > 10*maxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && s.foreign(ref) {
			s.warn("the schema refers to %s, which is not fetched: anything is accepted there", ref)
			delete(v, "$ref")
		}
		for _, item := range v {
			s.cut(item, depth+1)
		}
	case []any:
		for _, item := range v {
			s.cut(item, depth+1)
		}
	}
}

// foreign reports whether a reference leads to a part of another schema.
func (s *Schema) foreign(ref string) bool {
	uri, fragment, _ := strings.Cut(ref, "#")
	if fragment == "" || !strings.Contains(uri, ":") || wellKnown(uri) != nil {
		return false
	}
	top, _ := s.doc.(map[string]any)
	id, _ := top["$id"].(string)
	return strings.TrimSuffix(id, "#") != uri
}

// property finds the schemas of common properties that DSC publishes.
var property = regexp.MustCompile(`^https://(aka\.ms/dsc/schemas|raw\.githubusercontent\.com/PowerShell/DSC/[^/]+/schemas)/(.+/)?resource/properties/(exist|ensure|purge|inDesiredState)\.json$`)

// wellKnown gives the schema of a common property; nil if it is none.
func wellKnown(url string) any {
	m := property.FindStringSubmatch(url)
	if m == nil {
		return nil
	}
	switch m[3] {
	case "ensure":
		return map[string]any{"type": "string", "enum": []any{"Absent", "Present", "absent", "present"}}
	case "purge":
		return map[string]any{"type": []any{"boolean", "null"}, "writeOnly": true}
	case "inDesiredState":
		return map[string]any{"type": []any{"boolean", "null"}, "readOnly": true}
	}
	return map[string]any{"type": "boolean", "default": true}
}
