package yamlpos_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func TestJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"order of the file", "b: 1\na: {d: [x, y], c: null}\n", `{"b":1,"a":{"d":["x","y"],"c":null}}`},
		{"scalars", "[yes, true, ~, 'no', \"\\u001b<\", '']", `["yes",true,null,"no","\u001b<",""]`},
		{"integers", "[0, -7, 0x1F, 0o17, 1_000, +5, 010]", `[0,-7,31,15,1000,5,8]`},
		{"large integers", "[9223372036854775807, 18446744073709551615, 123456789012345678901234567890]", `[9223372036854775807,18446744073709551615,123456789012345678901234567890]`},
		{"floats", "[1.50, .5, 1e3, 0.1000000000000000055511151231257827]", `[1.50,0.5,1e3,0.1000000000000000055511151231257827]`},
		{"dates", "[2024-02-30, 2024-01-02T03:04:05Z, 2024-01-02]", `["2024-02-30","2024-01-02T03:04:05Z","2024-01-02"]`},
		{"keys", "{1: a, true: b, ~: c}", `{"1":"a","true":"b","~":"c"}`},
		{"aliases and merges", "a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n", `{"a":{"x":1},"b":{"x":1},"c":{"x":1,"y":2}}`},
		{"JSON", `{"a": "/ü", "b": [1.0, {}]}`, `{"a":"/ü","b":[1.0,{}]}`},
		{"infinite", "a:\n  b: .inf\n", `f.yaml:2:6: JSON has no number .inf`},
		{"no number", "[.nan]", `f.yaml:1:2: JSON has no number .nan`},
		{"too large", "a: &a " + strings.Repeat("x", 600) + "\nb: [*a, *a]\n", "f.yaml:1:4: more than 1 KiB as JSON\n  hint: use fewer aliases (*name): each alias copies the value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs, err := yamlpos.Parse("f.yaml", []byte(tt.in))
			require.NoError(t, err)
			got, err := docs[0].JSON(1 << 10)
			if err != nil {
				require.Equal(t, tt.want, err.Error())
				return
			}
			require.Equal(t, tt.want, string(got))
		})
	}
}

// FuzzJSON compares the JSON of a YAML text with the values read from the text.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{"a: [1, 0x1F, .5]", "- ~\n- 'x'", "a: &a {x: 1}\nb: *a", "1e400", "\"\\ud83d\"", "0_1", "-0", "? [a]\n: b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		docs, err := yamlpos.Parse("f.yaml", []byte(in))
		if err != nil || len(docs) == 0 {
			return
		}
		out, err := docs[0].JSON(1 << 20)
		if err != nil {
			return
		}
		require.True(t, json.Valid(out), "%q", out)
		again, err := yamlpos.Parse("f.json", out)
		if err != nil {
			return // JSON escapes that yaml.v3 does not read
		}
		twice, err := again[0].JSON(1 << 20)
		require.NoError(t, err)
		var a, b any
		require.NoError(t, json.Unmarshal(out, &a))
		require.NoError(t, json.Unmarshal(twice, &b))
		require.True(t, reflect.DeepEqual(a, b), "%s became %s", out, twice)
	})
}

func TestParseJSON(t *testing.T) {
	n, err := yamlpos.ParseJSON("f.json", []byte("{\"é\": [1, -2.5,\n  true, null],\n \"b\": {\"c\": \"x\"}}\n"))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"é": []any{int64(1), -2.5, true, nil}, "b": map[string]any{"c": "x"}}, n.Any())
	require.Equal(t, "f.json:1:2", n.Pairs[0].Key.Pos())
	require.Equal(t, "f.json:1:11", n.Pairs[0].Value.Items[1].Pos())
	require.Equal(t, "f.json:2:3", n.Pairs[0].Value.Items[2].Pos())
	require.Equal(t, "f.json:3:13", n.Get("b").Get("c").Pos())
}

func TestParseJSONErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "f.json:1:1: the JSON ends too early"},
		{"half", "{\"a\":\n [1,", "f.json:2:5: the JSON ends too early"},
		{"no JSON", "{a: 1}", "f.json:1:2: the text is not valid JSON: invalid character 'a'"},
		{"two values", "1\n2", "f.json:2:1: there is more text after the JSON value"},
		{"a key given twice", "{\"a\": 1,\n \"a\": 2}", "f.json:2:2: key \"a\" is given twice"},
		{"depth", strings.Repeat("[", 200) + strings.Repeat("]", 200), "f.json:1:102: nested more than 100 levels deep"},
		{"bytes", "\"\xff\"", "f.json: is not UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := yamlpos.ParseJSON("f.json", []byte(tt.text))
			require.EqualError(t, err, tt.want)
		})
	}
}

// FuzzParseJSON compares the values that are read with the values from encoding/json.
func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{`{"a": [1, 2.5, "x", null, true], "b": {}}`, "[", `{"a":1,"a":2}`, "1e400", "12345678901234567890", `"é\u0000"`, " [ ] \n", "1 2"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := yamlpos.ParseJSON("f.json", text)
		if err != nil {
			return
		}
		var want any
		err = json.Unmarshal(text, &want)
		if err != nil && strings.Contains(err.Error(), "cannot unmarshal number") {
			return // larger than a float64 holds
		}
		require.NoError(t, err)
		require.Equal(t, want, asFloats(n))
	})
}

// asFloats returns the value of a node in the types of encoding/json.
func asFloats(n *yamlpos.Node) any {
	switch n.Kind {
	case yamlpos.Map:
		m := map[string]any{}
		for _, p := range n.Pairs {
			m[p.Key.Text] = asFloats(p.Value)
		}
		return m
	case yamlpos.List:
		list := []any{}
		for _, item := range n.Items {
			list = append(list, asFloats(item))
		}
		return list
	}
	if i, isInt := n.Value.(int64); isInt {
		if i == 0 && strings.HasPrefix(n.Text, "-") {
			return math.Copysign(0, -1)
		}
		return float64(i)
	}
	return n.Value
}
