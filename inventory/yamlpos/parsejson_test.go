package yamlpos_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

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
		{"no JSON", "{a: 1}", "f.json:1:2: not JSON: invalid character 'a'"},
		{"two values", "1\n2", "f.json:2:1: there is something behind the JSON value"},
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

// FuzzParseJSON holds what is read against what encoding/json reads.
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

// asFloats is the value of a node as encoding/json has it.
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
