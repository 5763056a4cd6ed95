package ansible

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func parsed(t testing.TB, text string) *yamlpos.Node {
	t.Helper()
	documents, err := yamlpos.Parse("test.yaml", []byte(text))
	require.NoError(t, err)
	require.Len(t, documents, 1)
	return documents[0]
}

func TestJSON(t *testing.T) {
	for _, test := range []struct{ name, yaml, want string }{
		{"scalars", `{d: 1.5, c: 1, b: true, a: null, e: "x"}`, "{\n    \"a\": null,\n    \"b\": true,\n    \"c\": 1,\n    \"d\": 1.5,\n    \"e\": \"x\"\n}\n"},
		{"empty", `{a: {}, b: []}`, "{\n    \"a\": {},\n    \"b\": []\n}\n"},
		{"nested", `[[1, {b: [], a: 2}]]`, "[\n    [\n        1,\n        {\n            \"a\": 2,\n            \"b\": []\n        }\n    ]\n]\n"},
		{"numbers as keys", `{10: a, 9: b, 1.5: c}`, "{\n    \"1.5\": \"c\",\n    \"9\": \"b\",\n    \"10\": \"a\"\n}\n"},
		{"other letters", `"é ü 漢 <&>"`, "\"é ü 漢 <&>\"\n"},
		{"terminal codes", `"\e[2J\x7f\u2028\u202e\0"`, `"\u001b[2J\u007f\u2028\u202e\u0000"` + "\n"},
		{"a tab", `"a\tb\nc\"\\"`, `"a\tb\nc\"\\"` + "\n"},
		{"large integers", `[123456789012345678901234567890, +99999999999999999999, -1]`, "[\n    123456789012345678901234567890,\n    99999999999999999999,\n    -1\n]\n"},
		{"floats", `[1.0, 1.0e+16, 123456789.123456789, 0.00001, 0.0001]`, "[\n    1.0,\n    1e+16,\n    123456789.12345679,\n    1e-05,\n    0.0001\n]\n"},
		{"floats that JSON has not", `[.inf, -.inf, .nan]`, "[\n    \"Infinity\",\n    \"-Infinity\",\n    \"NaN\"\n]\n"},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.want, JSON(parsed(t, test.yaml))) })
	}
}

func TestStr(t *testing.T) {
	for _, test := range []struct{ name, yaml, want string }{
		{"text", `it's "x"`, `it's "x"`},
		{"lines and terminal codes", `"a\nb\e[2J"`, `a\nb\x1b[2J`},
		{"nothing", `~`, "None"},
		{"booleans", `[true, false]`, "[True, False]"},
		{"numbers", `[1, -2.0, 1.5e-7, 99999999999999999999]`, "[1, -2.0, 1.5e-07, 99999999999999999999]"},
		{"floats without a number", `[.inf, -.inf, .nan]`, "[inf, -inf, nan]"},
		{"maps in the order of the file", `{b: 1, a: {c: []}}`, "{'b': 1, 'a': {'c': []}}"},
		{"quotes", `["it's", 'say "x"', "it's \"x\"", 'a\b']`, `["it's", 'say "x"', 'it\'s "x"', 'a\\b']`},
		{"escapes", `["\t\n\r\0\x7f\xa0\u2028\U0001f600\ue000\U000e0001é"]`, `['\t\n\r\x00\x7f\xa0\u2028😀\ue000\U000e0001é']`},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.want, Str(parsed(t, test.yaml))) })
	}
}

// FuzzJSON checks that all printed text is JSON and has the values it was made from.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{"{a: [1, 2.5, x], 1: {}}", "\"\\e\\0\\u2028\"", "[.inf, 1e400, 0x10, ~, yes]", "? [a]\n: b", "{1: a, 1.0: b, true: c}", "0\t0"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		documents, err := yamlpos.Parse("fuzz.yaml", text)
		if err != nil || len(documents) != 1 {
			return
		}
		printed := JSON(documents[0])
		require.True(t, json.Valid([]byte(printed)), "%s", printed)
		require.NotRegexp(t, "[\x00-\x09\x0b-\x1f\x7f]", printed)
		require.NotRegexp(t, "[\x00-\x08\x0a-\x1f\x7f]", Str(documents[0]), "a text keeps its tabs")
	})
}
