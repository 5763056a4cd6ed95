package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// oracle compiles a schema with a validator that others use. It is for tests only: it
// takes longer to start than the rest of a program, see TestProgramsStartFast in
// cmd/ccm-module.
func oracle(doc any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(everything{})
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		re, err := regexp.Compile(text)
		if err != nil {
			return all(text), nil
		}
		return re, nil
	})
	const name = "https://example.com/root.json"
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

type everything struct{}

func (everything) Load(string) (any, error) { return true, nil }

type all string

func (all) MatchString(string) bool { return true }
func (p all) String() string        { return string(p) }

// A writer writes random schemas of a draft, and random values that are likely to be
// about what the schemas are about.
type writer struct {
	*rand.Rand
	draft draft
	wrong bool // sometimes write invalid schemas
}

var uris = map[draft]string{
	draft7: "http://json-schema.org/draft-07/schema#", draft2020: "https://json-schema.org/draft/2020-12/schema",
}

func (w writer) pick(texts ...string) string { return texts[w.IntN(len(texts))] }

func (w writer) name() string { return w.pick("a", "b", "c", "1", "a/b") }

func (w writer) value(depth int) any {
	switch n := w.IntN(9); {
	case n < 2:
		return json.Number(w.pick("0", "1", "2", "3", "-1", "1.0", "1.5", "2e0", "0.1", "10", "1e2", "-0"))
	case n == 2:
		return w.pick("", "a", "b", "ab", "ü", "true", "1", "2020-01-02", "::1", "a@b", "https://a.example/b")
	case n == 3:
		return []any{true, false, nil}[w.IntN(3)]
	case n < 6 && depth > 0:
		list := []any{}
		for range w.IntN(4) {
			list = append(list, w.value(depth-1))
		}
		return list
	case depth > 0:
		object := map[string]any{}
		for range w.IntN(4) {
			object[w.name()] = w.value(depth - 1)
		}
		return object
	}
	return json.Number("1")
}

func (w writer) number() any { return json.Number(w.pick("0", "1", "2", "1.5", "-1", "3.0", "0.1")) }

func (w writer) count() any { return json.Number(w.pick("0", "1", "2", "3", "1.0", "1e0")) }

func (w writer) names() []any {
	names := []any{w.name()}
	if other := w.name(); other != names[0] && w.IntN(2) == 0 {
		names = append(names, other)
	}
	return names
}

func (w writer) list(depth int) []any {
	list := []any{}
	for range 1 + w.IntN(3) {
		list = append(list, w.schema(depth-1))
	}
	return list
}

func (w writer) named(depth int) map[string]any {
	object := map[string]any{}
	for range w.IntN(3) {
		object[w.name()] = w.schema(depth - 1)
	}
	return object
}

func (w writer) schema(depth int) any {
	if w.IntN(10) == 0 {
		return w.IntN(3) > 0
	}
	object := map[string]any{}
	for range w.IntN(5) {
		w.keyword(object, depth)
	}
	return w.alone(object)
}

// alone removes keywords that must be ignored next to $ref, since the oracle does not ignore them.
func (w writer) alone(object map[string]any) map[string]any {
	if _, ok := object["$ref"]; ok && w.draft == draft7 {
		for _, key := range []string{"const", "contains", "propertyNames", "if"} {
			delete(object, key)
		}
	}
	return object
}

func (w writer) keyword(object map[string]any, depth int) {
	set := func(key string, v any) {
		if w.wrong && w.IntN(20) == 0 {
			v = []any{w.value(2), w.named(1), true, "x", json.Number("-1")}[w.IntN(5)]
		}
		if slices.ContainsFunc(keywords(), func(k keyword) bool { return k.name == key && k.in(w.draft) }) || w.IntN(10) == 0 {
			object[key] = v
		}
	}
	if depth <= 0 || w.IntN(3) == 0 {
		w.plain(set)
		return
	}
	switch key := w.pick("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems",
		"properties", "patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties", "dependentSchemas", "dependencies",
		"$ref", "$ref", "$ref", "if", "unevaluatedProperties", "unevaluatedItems"); key {
	case "allOf", "anyOf", "oneOf", "prefixItems":
		set(key, w.list(depth))
	case "properties", "dependentSchemas":
		set(key, w.named(depth))
	case "dependencies":
		set(key, map[string]any{w.name(): w.schema(depth - 1), "c": w.names()})
	case "patternProperties":
		set(key, map[string]any{w.pick("a", "^b", "[0-9]"): w.schema(depth - 1)})
	case "items":
		if w.IntN(2) == 0 && w.draft == draft7 {
			set(key, w.list(depth))
			return
		}
		set(key, w.schema(depth-1))
	case "if":
		set("if", w.schema(depth-1))
		set(w.pick("then", "else"), w.schema(depth-1))
	case "$ref":
		w.reference(set)
	case "propertyNames": // the oracle loses the surrounding scopes there
		set(key, w.schema(0))
	default:
		set(key, w.schema(depth-1))
	}
}

func (w writer) reference(set func(string, any)) {
	defs := "$defs"
	if w.draft == draft7 {
		defs = "definitions"
	}
	switch {
	case w.draft == draft2020 && w.IntN(2) == 0:
		set("$dynamicRef", w.pick("#dyn", "#plain", "inner", "inner#dyn", "#/$defs/x"))
	default:
		set("$ref", w.pick("#", "#/"+defs+"/x", "#/"+defs+"/y", "#plain", "inner", "inner#/"+defs+"/z", "https://example.com/inner", "https://other.example/what", "#/"+defs+"/x/unknown"))
	}
}

func (w writer) plain(set func(string, any)) {
	switch key := w.pick("type", "type", "enum", "const", "multipleOf", "minimum", "exclusiveMaximum", "pattern", "uniqueItems", "required", "dependentRequired", "format",
		"minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties"); key {
	case "type":
		set(key, w.pick(typeNames[:]...))
		if w.IntN(3) == 0 {
			set(key, []any{"object", w.pick("array", "number", "string", "integer", "null")})
		}
	case "enum":
		v := w.value(1)
		set(key, []any{v, "ab", []any{v}})
	case "const":
		set(key, w.value(2))
	case "multipleOf":
		set(key, json.Number(w.pick("1", "2", "0.5", "0.1", "1.5")))
	case "minimum":
		set(w.pick("minimum", "maximum"), w.number())
	case "exclusiveMaximum":
		set(w.pick("exclusiveMinimum", "exclusiveMaximum"), w.number())
	case "pattern":
		set(key, w.pick("^a", "b$", "[0-9]", "(?!x)"))
	case "uniqueItems":
		set(key, true)
	case "required":
		set(key, w.names())
	case "dependentRequired":
		set(key, map[string]any{w.name(): w.names()})
	case "format":
		set(key, w.pick("date", "ipv6", "email", "uri", "regex", "what"))
	case "minContains":
		set("contains", w.schema(0))
		set(key, w.count())
	default:
		set(key, w.count())
	}
}

// document returns a whole schema, with definitions to refer to.
func (w writer) document() map[string]any {
	root, _ := w.schema(4).(map[string]any)
	if root == nil {
		root = map[string]any{}
	}
	for range 2 {
		w.keyword(root, 3)
	}
	x := map[string]any{"unknown": w.schema(2)}
	for range 3 {
		w.keyword(x, 3)
	}
	w.alone(x)
	inner := map[string]any{"$id": "inner"}
	for range 3 {
		w.keyword(inner, 3)
	}
	if w.draft == draft7 {
		delete(inner, "$ref")
	}
	defs := "definitions"
	y, plain := w.schema(3), map[string]any{"type": w.pick("object", "array", "string", "number")}
	if w.draft == draft7 {
		plain["$id"] = "#plain"
	} else {
		defs, plain["$anchor"] = "$defs", "plain"
	}
	inner[defs] = map[string]any{"z": w.schema(2)}
	if w.draft == draft2020 {
		if w.IntN(2) == 0 {
			inner["properties"], root["$ref"] = map[string]any{"a": map[string]any{"$dynamicRef": "#dyn"}}, "inner"
		}
		inner[w.pick("$dynamicAnchor", "$anchor")] = "dyn"
		root[w.pick("$dynamicAnchor", "$anchor")] = "dyn"
	}
	root[defs] = map[string]any{"x": x, "y": y, "plain": plain, "inner": inner}
	root["$schema"] = uris[w.draft]
	root["$id"] = "https://example.com/root.json"
	if w.wrong {
		delete(root[defs].(map[string]any), w.pick("x", "y", "-"))
	}
	if w.draft == draft7 {
		delete(root, "$ref")
	}
	return root
}

// TestAgainstAnother compares the verdicts of both implementations on random schemas and values.
func TestAgainstAnother(t *testing.T) {
	rounds := 200 // schemas of each draft
	if testing.Short() {
		rounds /= 10
	}
	for d := range uris {
		for _, wrong := range []bool{false, true} {
			t.Run(fmt.Sprint(int(d), " ", wrong), func(t *testing.T) { againstAnother(t, d, wrong, rounds) })
		}
	}
}

func againstAnother(t *testing.T, d draft, wrong bool, rounds int) {
	counts := map[string]int{}
	for round := range rounds {
		w := writer{rand.New(rand.NewPCG(uint64(d), uint64(round))), d, wrong}
		doc := w.document()
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		theirs, theirErr := oracle(doc)
		ours, err := Compile(text)
		require.Equal(t, theirErr == nil, err == nil, "%s\ntheirs: %v\nours: %v", text, theirErr, err)
		if err != nil {
			counts["refused"]++
			continue
		}
		for range 10 {
			v := w.value(3)
			theirErr, faults := theirs.Validate(v), ours.Check(v)
			b, _ := json.Marshal(v)
			require.Equal(t, theirErr == nil, faults == nil, "%s\n%s\ntheirs: %v\nours: %v", text, b, theirErr, faults)
			counts[fmt.Sprint(faults == nil)]++
		}
	}
	require.NotZero(t, counts["true"])
	require.NotZero(t, counts["false"])
	t.Log(counts)
}

// formatTexts are texts that have, or nearly have, one of the formats.
var formatTexts = []string{"", "a", "1", "-", ".", "a.b", "a b", "ä", "A-1.b2", "-a", "a-", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 127),
	"2024-02-29", "2023-02-29", "2024-2-9", "2024-02-29 ", "12:00:00Z", "12:00:00z", "12:00:00", "24:00:00Z", "12:60:00Z", "12:00:61Z", "23:59:60Z", "22:59:60Z",
	"01:59:60+02:00", "21:59:60-02:00", "12:00:00.5Z", "12:00:00.Z", "12:00:00+24:00", "12:00:00+01:60", "12:00:00+01", "12:00:00+0100", "1:00:00Z",
	"2024-02-29T12:00:00Z", "2024-02-29t12:00:00+01:00", "2024-02-30T12:00:00Z", "2024-02-29 12:00:00Z", "P1Y", "P", "PT", "P1W", "PW", "P1Y2M3DT4H5M6S", "P1M1Y", "PT1D", "P1D1W", "P1", "P1DT", "PT1HT1H", "1Y",
	"P1D/2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z/P1D", "2024-02-29T12:00:00Z/2024-03-01T12:00:00Z", "P1D/P1D", "/", "a/b",
	"a@b", "a@b.example", "@b", "a@", "a", ".a@b", "a.@b", "a..b@c", `"a b"@c`, `"a\"b"@c`, "a b@c", "a@[127.0.0.1]", "a@[IPv6:::1]", "a@[::1]", "a@[b]", "a@b_c", strings.Repeat("a", 65) + "@b", "joe+x@example.com",
	"127.0.0.1", "127.0.0", "127.0.0.256", "01.2.3.4", "1.2.3.4.5", "::1", "::", "fe80::1%eth0", "1::2::3", "::ffff:1.2.3.4", "12345::", "[::1]",
	"https://a.example/b?c#d", "https://a b", "//a/b", "/a/b", "a/b", `\a`, "urn:a:b", ":", "%zz", "https://[::1]/", "https://[::1", "https://2001:db8::1/", "https://a:b/", "mailto:a@b", "https://a/{b}", "https://a/{b", "https://a/b}", "{a}{b}", "{{a}}",
	"2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g", "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380",
	"/", "/a~0b~1c", "/a~", "/a~2", "/~01", "/~", "//", "0", "0#", "1/a", "01/a", "1a", "1#a", "-1", "10#",
	"1.2.3", "1.2", "01.2.3", "1.2.3-a.1", "1.2.3-01", "1.2.3-0a", "1.2.3-", "1.2.3+", "1.2.3+01", "1.2.3-a+b", "1.2.3+a+b", "1.2.3-a..b", "1.2.3+ä", "v1.2.3", "1.2.x", "(", "^a$",
}

var formatNames = []string{"date", "time", "date-time", "duration", "period", "email", "hostname", "ipv4", "ipv6", "uri", "iri", "uri-reference", "iri-reference", "uri-template",
	"uuid", "json-pointer", "relative-json-pointer", "semver", "regex", "unknown"}

// TestFormats compares the verdicts of both implementations on formats that both check.
func TestFormats(t *testing.T) {
	for _, name := range formatNames {
		judge, err := oracle(map[string]any{"$schema": uris[draft7], "format": name})
		require.NoError(t, err)
		fit := 0
		for _, text := range formatTexts {
			want := judge.Validate(text) == nil
			if name == "uri-template" && strings.ContainsAny(text, "{}") {
				want = text == "https://a/{b}" || text == "{a}{b}" // the oracle checks only some of the others
			}
			require.Equal(t, want, ofFormat(name, text), "%s %q", name, text)
			if want {
				fit++
			}
		}
		require.NotZero(t, fit, name)
	}
}

// FuzzAgainstAnother compares the verdicts of both implementations on any schemas and values.
func FuzzAgainstAnother(f *testing.F) {
	f.Add([]byte(settings), []byte(`{"scope": "user", "days": 3}`))
	for d := range uris {
		w := writer{rand.New(rand.NewPCG(7, uint64(d))), d, false}
		for range 20 {
			doc, err := json.Marshal(w.document())
			require.NoError(f, err)
			v, err := json.Marshal(w.value(3))
			require.NoError(f, err)
			f.Add(doc, v)
		}
	}
	f.Fuzz(func(t *testing.T, doc, text []byte) {
		v, err := Value(text)
		if err != nil {
			return
		}
		s, err := Compile(doc)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		faults := s.Check(v)
		for _, other := range s.Check(v) {
			require.Contains(t, faults, other, "not the same twice")
		}
		if len(s.Warnings()) > 0 || beyond(string(doc)) || beyond(string(text)) || texts(faults) == tooLong {
			return
		}
		schema, err := Value(doc)
		require.NoError(t, err)
		theirs, err := oracle(schema)
		if err != nil {
			return // it refuses some schemas that are as good as others
		}
		require.Equal(t, theirs.Validate(v) == nil, faults == nil, "%s\n%s\nours: %v", doc, text, faults)
	})
}

// beyond reports what the two are known to see differently: numbers that are too large
// for one, formats in their details, other drafts, what draft 7 does next to $ref, and references
// from within names.
func beyond(text string) bool {
	return regexp.MustCompile(`draft-0[46]|2019-09|[0-9]{9}|[eE][-+]?[0-9]{3}|format|propertyNames|recursive|dynamic|json-schema.org/[^d]|draft.*"\$ref"|id"`).MatchString(text)
}
