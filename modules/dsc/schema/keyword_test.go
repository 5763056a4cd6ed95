package schema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// in writes a schema of a draft.
func in(d draft, keywords string) string {
	return `{"$schema": "` + uris[d] + `", ` + keywords + `}`
}

// TestKeywords checks for each keyword which values it accepts, and the messages for others.
func TestKeywords(t *testing.T) {
	for _, test := range []struct {
		draft           draft
		schema          string
		right, wrong    string
		want            string // the faults of wrong
		another, wanted string // and of another that is wrong
	}{
		{7, `"type": "integer"`, `1.0`, `1.5`, "must be integer, not number", `"1"`, "must be integer, not string"},
		{7, `"type": ["object", "null"]`, `null`, `[]`, "must be null or object, not array", `true`, "must be null or object, not boolean"},
		{7, `"enum": [1, "a", {"b": [1]}]`, `{"b": [1.0]}`, `{"b": [2]}`, `must be one of 1, "a", {"b":[1]}`, `null`, `must be one of 1, "a", {"b":[1]}`},
		{7, `"multipleOf": 0.1`, `12345678901234567890.3`, `0.35`, "is not allowed: multipleOf: got 0.35, want 0.1", "", ""},
		{7, `"items": [{}, {"type": "string"}], "additionalItems": false`, `[1, "a"]`, `[1, "a", 2, 3]`, "is not allowed: last 2 additionalItem(s) not allowed", `[1, 2]`, "[1] must be string, not number"},
		{7, `"additionalProperties": {"type": "string"}, "patternProperties": {"^x": {}}`, `{"x1": 1, "y": ""}`, `{"y": 1}`, "y must be string, not number", "", ""},
		{7, `"dependencies": {"a": ["b"], "c": {"required": ["d"]}}`, `{"a": 1, "b": 1}`, `{"a": 1}`, `lacks "b", which is required where "a" is`, `{"c": 1}`, `lacks "d", which is required`},
		{7, `"const": {"a": 1}`, `{"a": 1e0}`, `{"a": 2}`, `must be {"a":1}`, `1`, `must be {"a":1}`},
		{7, `"enum": [null, "a<b", true]`, `null`, `"b"`, `must be one of null, "a<b", true`, "", ""},
		{7, `"exclusiveMinimum": 1, "exclusiveMaximum": 2`, `1.5`, `2`, "is not allowed: exclusiveMaximum: got 2, want 2", `1.0`, "is not allowed: exclusiveMinimum: got 1.0, want 1"},
		{7, `"contains": {"type": "string"}`, `[1, "a"]`, `[1]`, "is not allowed: no items match contains schema", `[]`, "is not allowed: no items match contains schema"},
		{7, `"propertyNames": {"maxLength": 2}`, `{"ab": 1}`, `{"abc": 1}`, `has "abc", whose name is not allowed: maxLength: got 3, want 2`, "", ""},
		{7, `"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}`, `"a"`, `""`, "is not allowed: minLength: got 0, want 1", `0`, "is not allowed: minimum: got 0, want 1"},
		{7, `"minimum": 1, "maximum": 3`, `1.0`, `0`, "is not allowed: minimum: got 0, want 1", `3.01`, "is not allowed: maximum: got 3.01, want 3"},
		{2020, `"format": "date"`, `"never"`, "", "", "", ""},
		{7, `"format": "date"`, `"2024-02-29"`, `"2023-02-29"`, "is not allowed: not a valid date", "", ""},
		{7, `"definitions": {"x": {"type": "string"}}, "$ref": "#/definitions/x", "minLength": 5`, `"a"`, `1`, "must be string, not number", "", ""},
		{7, `"unevaluatedProperties": false`, `{"a": 1}`, "", "", "", ""},
		{2020, `"$defs": {"x": {"type": "string"}}, "$ref": "#/$defs/x", "minLength": 2`, `"ab"`, `1`, "must be string, not number", `"ü"`, "is not allowed: minLength: got 1, want 2"},
		{2020, `"contains": {"type": "null"}, "minContains": 2, "maxContains": 3`, `[null, 1, null]`, `[null]`, "is not allowed: min 2 items required to match contains schema, but 1 match", `[null, null, null, null]`, "is not allowed: max 3 items required to match contains schema, but 4 match"},
		{2020, `"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"maxProperties": 1}}`, `{"b": 1}`, `{"a": 1}`, `lacks "b", which is required where "a" is`, `{"b": 1, "c": 1}`, "is not allowed: maxProperties: got 2, want 1"},
		{2020, `"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}, {"required": ["c"]}], "unevaluatedProperties": false`, `{"a": 1, "b": 2}`, `{"a": 1, "x": 2}`, `has "x", which is not known`, "", ""},
		{2020, `"prefixItems": [{}], "unevaluatedItems": {"type": "string"}`, `[1, "a"]`, `[1, 2]`, "[1] must be string, not number", "", ""},
		{2020, `"anyOf": [{}, {"properties": {"a": {}}}], "unevaluatedProperties": false`, `{"a": 1}`, `{"b": 1}`, `has "b", which is not known`, "", ""},
		{2020, `"allOf": [{"properties": {"a": {}}, "unevaluatedProperties": {"type": "number"}}], "unevaluatedProperties": false`, `{"a": "", "b": 1}`, `{"b": ""}`, "b must be number, not string", "", ""},
		{2020, `"allOf": [{"prefixItems": [{}], "unevaluatedItems": {"type": "number"}}], "unevaluatedItems": false`, `["", 1]`, `["", ""]`, "[1] must be number, not string", "", ""},
		{2020, `"$ref": "#/$defs/inner/what", "$defs": {"n": {"type": "null"}, "inner": {"$id": "https://example.com/inner", "what": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "string"}}}}`, `""`, `null`, "must be string, not null", "", ""},
		{2020, `"prefixItems": [{"type": "string"}], "items": false`, `["a"]`, `["a", 1]`, "[1] is not allowed: false schema", `[1]`, "[0] must be string, not number"},
		{2020, `"contains": {"type": "number"}, "unevaluatedItems": false`, `[1]`, `[1, ""]`, "[1] is not allowed: false schema", "", ""},
		{2020, `"additionalProperties": {"items": {"type": "string"}}`, `{"80": ["a"]}`, `{"80": ["a", 1]}`, "80[1] must be string, not number", "", ""},
		{2020, `"minItems": 1, "maxItems": 2, "uniqueItems": true`, `[1, "1"]`, `[]`, "is not allowed: minItems: got 0, want 1", `[1.0, 1]`, "is not allowed: items at 0 and 1 are equal"},
		{2020, `"minProperties": 1, "maxProperties": 1, "required": ["a", "b"]`, `1`, `{}`, `is not allowed: minProperties: got 0, want 1|lacks "a", which is required|lacks "b", which is required`, `{"a": 1, "b": 2}`, "is not allowed: maxProperties: got 2, want 1"},
		{2020, `"minLength": 2, "maxLength": 3, "pattern": "^a"`, `"aüü"`, `"b"`, "does not match ^a|is not allowed: minLength: got 1, want 2", `"aaaa"`, "is not allowed: maxLength: got 4, want 3"},
		{2020, `"not": {"type": "string"}`, `1`, `""`, "is not allowed: 'not' failed", "", ""},
		{2020, `"allOf": [{"type": "string"}, {"minLength": 1}]`, `"a"`, `1`, "must be string, not number", `""`, "is not allowed: minLength: got 0, want 1"},
		{2020, `"anyOf": [{"type": "string"}, {"minimum": 5}, {"type": "null"}]`, `7`, `1`, "fits none of the alternatives (must be string, not number; is not allowed: minimum: got 1, want 5; must be null, not number)", "", ""},
		{2020, `"oneOf": [{"type": "string"}, {"minLength": 2}]`, `"a"`, `"ab"`, "fits more than one of the alternatives", "", ""},
		{2020, `"additionalProperties": false, "properties": {"a": {}}`, `{"a": 1}`, `{"b": 1, "c": 2}`, `has "b", which is not known|has "c", which is not known`, "", ""},
		{2020, `"$dynamicAnchor": "n", "$defs": {"list": {"$id": "https://example.com/list", "$defs": {"any": {"$dynamicAnchor": "n"}}, "items": {"$dynamicRef": "#n"}}},
			"anyOf": [{"type": "string"}, {"$ref": "https://example.com/list", "type": "array"}]`, `["a", ["b"]]`, `[1]`, "fits none of the alternatives (must be string, not array; [0] fits none of the alternatives ([0] must be string, not number; [0] must be array, not number))", "", ""},
		{2020, `"$ref": "#/$defs/x/what", "$defs": {"x": {"what": {"$anchor": "here", "type": "null"}}, "y": {"$ref": "#here"}}`, `null`, `1`, "must be null, not number", "", ""},
		{2020, `"$defs": {"older": {"$id": "https://example.com/older", "$schema": "http://json-schema.org/draft-07/schema#", "allOf": [{"$ref": "#/definitions/x", "type": "null"}], "definitions": {"x": true}}}, "$ref": "#/$defs/older"`, `1`, "", "", "", ""},
	} {
		t.Run(test.schema, func(t *testing.T) {
			s := compile(t, in(test.draft, test.schema))
			require.Empty(t, s.Check(value(t, test.right)), test.right)
			for _, wrong := range [][2]string{{test.wrong, test.want}, {test.another, test.wanted}} {
				if wrong[0] == "" {
					continue
				}
				require.Equal(t, wrong[1], texts(s.Check(value(t, wrong[0]))), wrong[0])
			}
		})
	}
}

func texts(faults []Fault) string {
	var all string
	for i, f := range faults {
		if i > 0 {
			all += "|"
		}
		all += f.Error()
	}
	return all
}

// TestMalformed checks the position and the reason in the errors of invalid schemas.
func TestMalformed(t *testing.T) {
	for _, test := range []struct {
		draft        draft
		schema, want string
	}{
		{2020, `"type": 1`, "/type must be string or array, not number"},
		{2020, `"type": "text"`, "/type must be one of null, boolean, number, integer, string, array, object"},
		{2020, `"type": ["null", "null"]`, "/type/1 is there twice"},
		{2020, `"type": []`, "/type must have an element"},
		{2020, `"properties": {"a/b": {"minLength": -1}}`, "/properties/a~1b/minLength must be a whole number from 0 on, not -1"},
		{2020, `"properties": {"a": {"minLength": "1"}, "b": []}`, "/properties/a/minLength must be integer, not string; /properties/b must be object or boolean, not array"},
		{2020, `"properties": []`, "/properties must be object, not array"},
		{2020, `"required": ["a", 1]`, "/required/1 must be string, not number"},
		{2020, `"required": ["a", "a"]`, "/required has the elements 0 and 1, which are equal"},
		{2020, `"allOf": []`, "/allOf must have an element"},
		{2020, `"items": [{}]`, "/items must be object or boolean, not array"},
		{2020, `"multipleOf": 0`, "/multipleOf must be above 0"},
		{2020, `"uniqueItems": 1`, "/uniqueItems must be boolean, not number"},
		{2020, `"pattern": true`, "/pattern must be string, not boolean"},
		{2020, `"$ref": "#/$defs/nothing"`, `/$ref leads to "#/$defs/nothing", which is not there`},
		{2020, `"$ref": "#nothing"`, `/$ref leads to "#nothing", which is not there`},
		{2020, `"$ref": "#/title", "title": "x"`, `/$ref leads to "#/title", which is not a schema`},
		{2020, `"$ref": "#/~2"`, `/$ref leads to "#/~2", which is not there`},
		{2020, `"$ref": "%zz"`, `/$ref must be a URI, or lead to one; /$ref is not a reference`},
		{2020, `"$id": "https://example.com/#x"`, `/$id must have no fragment`},
		{2020, `"$anchor": "1"`, `/$anchor must match ^[A-Za-z_][-A-Za-z0-9._]*$`},
		{2020, `"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}`, `/$defs/b/$anchor is "x", which another schema also has`},
		{2020, `"$defs": {"a": {"$id": "https://example.com/x"}, "b": {"$id": "https://example.com/x"}}`, `/$defs/b/$id is "https://example.com/x", which another schema also has`},
		{2020, `"$vocabulary": {"x": true}`, "/$vocabulary must give true or false for each URI"},
		{2020, `"examples": {}`, "/examples must be array, not object"},
		{2020, `"dependentRequired": {"a": "b"}`, "/dependentRequired/a must be array, not string"},
		{7, `"enum": []`, "/enum must have an element"},
		{7, `"enum": [1, 2, 1.0]`, "/enum has the elements 0 and 2, which are equal"},
		{7, `"dependencies": {"a": 1}`, "/dependencies/a must be object or boolean, not number"},
		{7, `"exclusiveMaximum": true, "maximum": 1`, "/exclusiveMaximum must be number, not boolean"},
	} {
		t.Run(test.schema, func(t *testing.T) {
			_, err := Compile(json.RawMessage(in(test.draft, test.schema)))
			require.EqualError(t, err, "the schema cannot be used: "+test.want)
		})
	}
	for text, want := range map[string]string{
		`1`:              "the schema cannot be used: it must be object or boolean, not number",
		`{"$schema": 1}`: "the schema cannot be used: /$schema must be string, not number",
	} {
		_, err := Compile(json.RawMessage(text))
		require.EqualError(t, err, want)
	}
}

// TestUnknownKeywords checks that keywords unknown to a draft are ignored.
func TestUnknownKeywords(t *testing.T) {
	for _, schema := range []string{
		in(7, `"$defs": 1, "minContains": "x", "$anchor": 1, "id": 1, "$ref ": 1, "prefixItems": 1, "$dynamicRef": 1`), in(2020, `"additionalItems": 1, "id": 1, "$recursiveAnchor": true`),
	} {
		s := compile(t, schema)
		require.Empty(t, s.Warnings())
		require.Empty(t, s.Check(value(t, `{"a": [1]}`)))
	}
}

// TestNames checks that a schema within another is found by its name, also in an unknown draft.
func TestNames(t *testing.T) {
	s := compile(t, `{"$id": "https://example.com/a/b.json", "properties": {"x": {"$ref": "c.json"}, "y": {"$ref": "/a/c.json#/$defs/n"}, "z": {"$ref": "d.json#k"}, "w": {"$ref": "b.json#/properties/x"}},
		"$defs": {"c": {"$id": "c.json", "$schema": "https://example.com/own", "type": "string", "$defs": {"n": {"type": "null"}}}}}`)
	require.Equal(t, []string{
		`the schema's $schema is "https://example.com/own", which is not known; it is read as draft 2020-12`,
		"the schema refers to https://example.com/a/d.json#k, which is not fetched: anything is accepted there",
	}, s.Warnings())
	require.Equal(t, "w must be string, not number|x must be string, not number|y must be null, not number", texts(s.Check(value(t, `{"w": 1, "x": 1, "y": 1, "z": 1}`))))
	s = compile(t, `{"properties": {"x": {"$ref": "c.json"}, "y": {"$ref": "d.json"}}, "$defs": {"c": {"$id": "c.json", "type": "string"}}}`)
	require.Equal(t, []string{"the schema refers to d.json, which is not fetched: anything is accepted there"}, s.Warnings())
	require.Equal(t, "x must be string, not number", texts(s.Check(value(t, `{"x": 1, "y": 1}`))))
	s = compile(t, `{"$id": "urn:example:a", "properties": {"x": {"$ref": "#/$defs/c"}, "y": {"$ref": "d.json"}, "z": {"$ref": "urn:example:a"}}, "$defs": {"c": {"type": "string"}}, "type": "object"}`)
	require.Equal(t, []string{"the schema refers to d.json, which is not fetched: anything is accepted there"}, s.Warnings())
	require.Equal(t, "x must be string, not number|z must be object, not number", texts(s.Check(value(t, `{"x": 1, "y": 1, "z": 1}`))))
	s = compile(t, `{"const": {"$ref": "https://example.com/x#/y"}}`) // a value, not a reference
	require.Empty(t, s.Warnings())
	require.Empty(t, s.Check(value(t, `{"$ref": "https://example.com/x#/y"}`)))
}

// TestSecretsStayOut checks that no fault contains the content of a text. (It may contain a number: callers, which know
// the secrets, remove numbers and texts of properties.)
func TestSecretsStayOut(t *testing.T) {
	s := compile(t, in(7, `"allOf": [{"pattern": "^x"}, {"format": "uri"}, {"maxLength": 1}, {"enum": [1]}, {"const": 1}, {"type": "null"}, {"not": {}}, {"anyOf": [{"format": "ipv4"}, {"maxLength": 2}]}, false]`))
	for _, f := range s.Check("hunter2") {
		require.NotContains(t, f.Error(), "hunter2")
	}
}
