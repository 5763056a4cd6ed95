package schema

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func value(t testing.TB, text string) any {
	t.Helper()
	v, err := Value([]byte(text))
	require.NoError(t, err)
	return v
}

func compile(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(text))
	require.NoError(t, err)
	return s
}

const settings = `{"$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://example.com/settings.json", "type": "object",
	"required": ["scope"], "additionalProperties": false, "properties": {
	"scope": {"type": "string", "enum": ["machine", "user"]}, "days": {"type": "integer", "minimum": 1, "maximum": 90},
	"name": {"type": "string", "pattern": "^[a-z]+$"}, "on": {"$ref": "#/definitions/flag"}, "users": {"type": "array", "items": {"$ref": "#/definitions/user"}},
	"one": {"oneOf": [{"type": "string"}, {"type": "integer"}]}, "kind": {"const": "x"}},
	"definitions": {"flag": {"type": "boolean"}, "user": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}}}`

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        []string
	}{
		{"right", `{"scope": "user", "days": 90, "on": true, "users": [{"id": 1}], "one": 1}`, nil},
		{"required", `{}`, []string{`lacks "scope", which is required`}},
		{"enum", `{"scope": "all"}`, []string{`scope must be one of "machine", "user"`}},
		{"const", `{"scope": "user", "kind": 1}`, []string{`kind must be "x"`}},
		{"type", `{"scope": "user", "on": "true"}`, []string{`on must be boolean, not string`}},
		{"pattern", `{"scope": "user", "name": "A"}`, []string{`name does not match ^[a-z]+$`}},
		{"minimum", `{"scope": "user", "days": 0}`, []string{`days is not allowed: minimum: got 0, want 1`}},
		{"unknown", `{"scope": "user", "x": 1}`, []string{`has "x", which is not known`}},
		{"in a list", `{"scope": "user", "users": [{"id": 1}, {"id": "x"}, {}]}`, []string{`users[1].id must be integer, not string`, `users[2] lacks "id", which is required`}},
		{"alternatives", `{"scope": "user", "one": true}`, []string{`one fits none of the alternatives (one must be string, not boolean; one must be integer, not boolean)`}},
		{"no object", `[]`, []string{`must be object, not array`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var texts []string
			for _, f := range compile(t, settings).Check(value(t, test.value)) {
				texts = append(texts, f.Error())
			}
			require.ElementsMatch(t, test.want, texts)
		})
	}
}

// TestKnown checks the suggested names for unknown members, in any place.
func TestKnown(t *testing.T) {
	s := compile(t, `{"$id": "https://example.com/thing.json", "properties": {"size": {}, "file": {}, "deep": {"items": [{"$ref": "#/$defs/a~1b c"}]}, "open": {"allOf": [{"additionalProperties": false}]}},
		"additionalProperties": false, "$schema": "http://json-schema.org/draft-07/schema#", "$defs": {"a/b c": {"additionalProperties": false, "properties": {"one": {}}}}}`)
	var all []string
	for _, f := range s.Check(value(t, `{"siz": 1, "deep": [{"on": 1}], "open": {"x": 1}}`)) {
		all = append(all, fmt.Sprint(f.Path, " ", f.Unknown, " ", s.Known(f)))
	}
	require.ElementsMatch(t, []string{" siz [deep file open size]", "deep[0] on [one]", "open x []"}, all)
}

// TestKnownElsewhere checks that the suggestions for an unevaluated member include the names in all schemas that apply.
func TestKnownElsewhere(t *testing.T) {
	s := compile(t, `{"properties": {"size": {}}, "allOf": [{"$ref": "#/$defs/a"}, {"properties": {"deep": {"properties": {"hidden": {}}}}}],
		"if": {"required": ["on"]}, "then": {"properties": {"mode": {}}}, "dependentSchemas": {"on": {"properties": {"off": {}}}}, "unevaluatedProperties": false,
		"$defs": {"a": {"properties": {"file": {}}, "anyOf": [{"$ref": "#"}, {}]}}}`)
	faults := s.Check(value(t, `{"size": 1, "fil": 1}`))
	require.Equal(t, `has "fil", which is not known`, texts(faults))
	require.Equal(t, []string{"deep", "file", "mode", "off", "size"}, s.Known(faults[0]))
}

// TestUnknownHideNothing checks that the other faults are reported, however many members are unknown.
func TestUnknownHideNothing(t *testing.T) {
	s := compile(t, `{"properties": {"z": {"type": "string"}}, "additionalProperties": false}`)
	many := `{"z": 1`
	for i := range 50 {
		many += fmt.Sprintf(`, "b%d": 1`, i)
	}
	faults := s.Check(value(t, many+"}"))
	require.Len(t, faults, maxFaults+1)
	require.Equal(t, "z must be string, not number", faults[maxFaults].Error())
}

// TestProperty checks that definitions next to a reference count, like its target.
func TestProperty(t *testing.T) {
	for d, defs := range map[draft]string{draft7: "definitions", draft2020: "$defs"} {
		s := compile(t, in(d, `"$ref": "#/`+defs+`/all", "`+defs+`": {"secret": {"type": "string", "default": "b"}, "all": {"properties": {
			"a": {"$ref": "#/`+defs+`/secret", "writeOnly": true}, "b": {"$ref": "#/`+defs+`/secret", "default": "a"}, "c": {"$ref": "#/`+defs+`/c"}, "d": true}},
			"c": {"$ref": "#/`+defs+`/c"}}`))
		require.Equal(t, Property{WriteOnly: true, Default: "b", Declared: true}, s.Property("a"))
		require.Equal(t, Property{Default: "a", Declared: true}, s.Property("b"))
		require.Equal(t, Property{Declared: true}, s.Property("c"))
		require.Equal(t, Property{Declared: true}, s.Property("d"))
		require.Equal(t, Property{}, s.Property("e"))
	}
	require.Equal(t, Property{}, (*Schema)(nil).Property("a"))
}

// TestDrafts checks that two drafts are read as they are meant, and others as one of these, with a warning.
func TestDrafts(t *testing.T) {
	s := compile(t, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"n": {"type": "integer"}}, "allOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}}], "unevaluatedProperties": false}`)
	require.Empty(t, s.Check(value(t, `{"a": 1}`)))
	require.NotEmpty(t, s.Check(value(t, `{"a": 1, "b": 1}`)))
	require.NotEmpty(t, s.Check(value(t, `{"a": "x"}`)))
	s = compile(t, `{"$schema": "https://example.com/own", "type": "object"}`)
	require.Equal(t, []string{`the schema's $schema is "https://example.com/own", which is not known; it is read as draft 2020-12`}, s.Warnings())
	require.NotEmpty(t, s.Check(value(t, `1`)))
	for older, read := range map[string]string{"http://json-schema.org/draft-04/schema#": "draft 7", "http://json-schema.org/draft-06/schema": "draft 7", "https://json-schema.org/draft/2019-09/schema": "draft 2020-12"} {
		warning := fmt.Sprintf(`the schema's $schema is %q; it is read as %s`, older, read)
		s = compile(t, `{"$schema": "`+older+`", "properties": {"a": {"const": 1}}, "$recursiveAnchor": true}`)
		require.Equal(t, []string{warning}, s.Warnings())
		require.NotEmpty(t, s.Check(value(t, `{"a": 2}`)))
		_, err := Compile(json.RawMessage(`{"$schema": "` + older + `", "exclusiveMinimum": true, "minimum": 1}`))
		require.EqualError(t, err, "the schema cannot be used: /exclusiveMinimum must be number, not boolean; "+warning)
	}
}

// TestNothingIsFetched checks that a reference out of a schema is known here, or accepts anything.
func TestNothingIsFetched(t *testing.T) {
	s := compile(t, `{"properties": {
		"_exist": {"$ref": "https://aka.ms/dsc/schemas/v3/bundled/resource/properties/exist.json"},
		"_ensure": {"$ref": "https://raw.githubusercontent.com/PowerShell/DSC/main/schemas/2023/10/resource/properties/ensure.json"},
		"_purge": {"$ref": "https://aka.ms/dsc/schemas/v3.1/resource/properties/purge.json"},
		"_inDesiredState": {"$ref": "https://aka.ms/dsc/schemas/v3/resource/properties/inDesiredState.json"},
		"other": {"$ref": "https://example.com/other.json#/definitions/x"}, "file": {"$ref": "file:///etc/passwd"}, "pattern": {"pattern": "^(?!x)"}}}`)
	require.ElementsMatch(t, []string{
		"the schema refers to https://example.com/other.json#/definitions/x, which is not fetched: anything is accepted there",
		"the schema refers to file:///etc/passwd, which is not fetched: anything is accepted there",
		`the schema has the pattern "^(?!x)", which is not understood and not looked at`,
	}, s.Warnings())
	require.Empty(t, s.Check(value(t, `{"_exist": false, "_ensure": "Absent", "_purge": null, "_inDesiredState": true, "other": {}, "file": 1, "pattern": "x"}`)))
	var texts []string
	for _, f := range s.Check(value(t, `{"_exist": 1, "_ensure": "x"}`)) {
		texts = append(texts, f.Error())
	}
	require.ElementsMatch(t, []string{`_exist must be boolean, not number`, `_ensure must be one of "Absent", "Present", "absent", "present"`}, texts)
	require.Equal(t, Property{Default: true, Declared: true}, s.Property("_exist"))
	require.True(t, s.Property("_purge").WriteOnly)
	require.Equal(t, Property{}, s.Property("nothing"))
}

func TestCompileErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                           "the schema is not JSON: unexpected EOF",
		`{} {}`:                       "the schema is not JSON: more than one JSON value",
		`{"type": 1}`:                 "",
		`{"$ref": "#/$defs/nothing"}`: "",
	} {
		_, err := Compile(json.RawMessage(text))
		require.Error(t, err, text)
		if want != "" {
			require.EqualError(t, err, want)
		}
	}
}

func TestCoerce(t *testing.T) {
	const schema = `{"properties": {"on": {"$ref": "#/$defs/flag"}, "named": {"$ref": "#flag"}, "row": {"prefixItems": [{"type": "boolean"}], "items": {"type": "integer"}}, "n": {"type": "integer"}, "f": {"type": ["number", "null"]}, "s": {"type": "string"},
		"both": {"type": ["string", "boolean"]}, "list": {"items": {"type": "integer"}}, "deep": {"properties": {"on": {"type": "boolean"}}}},
		"additionalProperties": {"type": "integer"}, "$defs": {"flag": {"type": "boolean", "$anchor": "flag"}}}`
	for _, test := range []struct{ name, value, want, warning string }{
		{"boolean", `{"on": "true"}`, `{"on": true}`, "on is a text where the schema has boolean; it is taken for one"},
		{"false", `{"on": "false"}`, `{"on": false}`, "on is a text where the schema has boolean; it is taken for one"},
		{"integer", `{"n": "-12"}`, `{"n": -12}`, "n is a text where the schema has integer; it is taken for one"},
		{"number", `{"f": "1.5"}`, `{"f": 1.5}`, "f is a text where the schema has null or number; it is taken for one"},
		{"others", `{"x": "3"}`, `{"x": 3}`, "x is a text where the schema has integer; it is taken for one"},
		{"list", `{"list": [1, "2"]}`, `{"list": [1, 2]}`, "list[1] is a text where the schema has integer; it is taken for one"},
		{"deep", `{"deep": {"on": "true"}}`, `{"deep": {"on": true}}`, "deep.on is a text where the schema has boolean; it is taken for one"},
		{"by an anchor", `{"named": "true"}`, `{"named": true}`, "named is a text where the schema has boolean; it is taken for one"},
		{"first in a list", `{"row": ["true"]}`, `{"row": [true]}`, "row[0] is a text where the schema has boolean; it is taken for one"},
		{"later in a list", `{"row": [true, "2"]}`, `{"row": [true, 2]}`, "row[1] is a text where the schema has integer; it is taken for one"},
		{"texts stay", `{"s": "true", "both": "true"}`, `{"s": "true", "both": "true"}`, ""},
		{"no boolean", `{"on": "True"}`, `{"on": "True"}`, ""},
		{"no integer", `{"n": "1.5"}`, `{"n": "1.5"}`, ""},
		{"no JSON number", `{"n": "007", "f": "0x1p4"}`, `{"n": "007", "f": "0x1p4"}`, ""},
		{"no scalar", `{"on": [], "n": {}}`, `{"on": [], "n": {}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := value(t, test.value)
			got, warnings := compile(t, schema).Coerce(before)
			require.Equal(t, value(t, test.want), got)
			require.Equal(t, value(t, test.value), before, "it was changed in place")
			if test.warning == "" {
				require.Empty(t, warnings)
				return
			}
			require.Equal(t, []string{test.warning}, warnings)
		})
	}
}

// FuzzSchema checks that no schema and no value breaks anything, and that coercing a coerced value changes nothing.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(settings), []byte(`{"scope": "user", "days": "3"}`))
	f.Add([]byte(`{"$ref": "#"}`), []byte(`1`))
	f.Add([]byte(`{"properties": {"a": {"$ref": "#/properties/b"}, "b": {"$ref": "#/properties/a"}}}`), []byte(`{"a": "1"}`))
	f.Fuzz(func(t *testing.T, doc, text []byte) {
		v, err := Value(text)
		if err != nil {
			return
		}
		s, err := Compile(doc)
		if err != nil {
			return
		}
		once, _ := s.Coerce(v)
		twice, warnings := s.Coerce(once)
		require.Empty(t, warnings)
		require.Equal(t, once, twice)
		s.Check(once)
		s.Property("a")
	})
}
