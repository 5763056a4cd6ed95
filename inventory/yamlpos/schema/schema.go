package schema

import (
	"bytes"
	"encoding/json"
)

// Dialect is the version of JSON Schema.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// A Schema is a JSON Schema: the keywords that are used here, in the order in
// which they are printed. The zero Schema accepts everything.
type Schema struct {
	Dialect     string     `json:"$schema,omitempty"`
	ID          string     `json:"$id,omitempty"`
	Ref         string     `json:"$ref,omitempty"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Default     any        `json:"default,omitempty"` // shown by editors
	Type        Types      `json:"type,omitempty"`
	Enum        []any      `json:"enum,omitempty"`
	Pattern     string     `json:"pattern,omitempty"` // of strings
	MinLength   int        `json:"minLength,omitempty"`
	Minimum     *float64   `json:"minimum,omitempty"`
	Maximum     *float64   `json:"maximum,omitempty"`
	Items       *Schema    `json:"items,omitempty"`
	MinItems    int        `json:"minItems,omitempty"`
	Contains    *Schema    `json:"contains,omitempty"` // matched by at least one item
	Properties  Properties `json:"properties,omitempty"`
	Names       *Schema    `json:"propertyNames,omitempty"`
	Others      any        `json:"additionalProperties,omitempty"` // false, or a *Schema
	Required    []string   `json:"required,omitempty"`
	MinKeys     int        `json:"minProperties,omitempty"`
	MaxKeys     int        `json:"maxProperties,omitempty"`
	AllOf       []*Schema  `json:"allOf,omitempty"`
	AnyOf       []*Schema  `json:"anyOf,omitempty"`
	Not         *Schema    `json:"not,omitempty"`
	Defs        Properties `json:"$defs,omitempty"`
}

// The types of JSON, and the whole numbers among them.
const (
	Object  = "object"
	Array   = "array"
	String  = "string"
	Number  = "number"
	Integer = "integer"
	Boolean = "boolean"
	Null    = "null"
)

// Types are the types that a value may have.
type Types []string

// MarshalJSON writes one type without a list around it.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// Properties are named schemas, in the order in which they are printed.
type Properties []Property

// A Property is one key of an object.
type Property struct {
	Name   string
	Schema *Schema
}

// Get returns a property, or nil.
func (p Properties) Get(name string) *Schema {
	for _, property := range p {
		if property.Name == name {
			return property.Schema
		}
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (p Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, property := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, part := range []any{property.Name, property.Schema} {
			text, err := encode(part, "")
			if err != nil {
				return nil, err
			}
			if j > 0 {
				b.WriteByte(':')
			}
			b.Write(bytes.TrimSpace(text))
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Encode returns the text of the schema: indented JSON, the same each time.
func (s *Schema) Encode() ([]byte, error) { return encode(s, "  ") }

func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Ref refers to one of the Defs at the top.
func Ref(name string) *Schema { return &Schema{Ref: "#/$defs/" + name} }

// Not refuses what s accepts.
func Not(s *Schema) *Schema { return &Schema{Not: s} }

// Between accepts numbers with these bounds included, and the types in t.
func Between(low, high float64, t ...string) *Schema {
	return &Schema{Type: t, Minimum: &low, Maximum: &high}
}

// From accepts numbers that are not below low, and the types in t.
func From(low float64, t ...string) *Schema { return &Schema{Type: t, Minimum: &low} }
