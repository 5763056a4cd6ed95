package hostfacts

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// reports are what hosts say about themselves.
// copying copies 10,000 values.
var copying = "a: &a [" + strings.Repeat("x,", 9999) + "]\\nb: *a"

var reports = []struct {
	name, report string
	want         map[string]any
	err          string
}{
	{"nothing", "", map[string]any{}, ""},
	{"numbers", `{"facts":{"cpu":{"n":4,"load":0.5,"whole":2.0,"large":9223372036854775807,"larger":9223372036854775808}}}`,
		map[string]any{"cpu": map[string]any{"n": int64(4), "load": 0.5, "whole": 2.0, "large": int64(9223372036854775807), "larger": 9223372036854775808.0}}, ""},
	{"custom facts", `{"facts":{"host":{"a":1,"b":[1]}},"custom":[{"path":"/f.yaml","text":"host: {a: 2, b: [2]}\nrole: web"},{"path":"/g.json","text":"{\"role\":\"db\"}"},{"path":"/empty","text":""}]}`,
		map[string]any{"host": map[string]any{"a": int64(2), "b": []any{int64(1), int64(2)}}, "role": "db"}, ""},
	{"no JSON", `{`, nil, "the host's facts are no JSON: unexpected end of JSON input"},
	{"too large a number", `{"facts":{"n":1e999}}`, nil, `fact "n": strconv.ParseFloat: parsing "1e999": value out of range`},
	{"too deep", `{"facts":{"n":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}`, nil, `fact "n": is nested too deep`},
	{"custom facts that are no map", `{"custom":[{"path":"/f","text":"[1]"}]}`, nil, "/f:1:1: a facts file is a map"},
	{"custom facts that are no YAML", `{"custom":[{"path":"/f","text":"a: *b"}]}`, nil, "a facts file of the host: /f:1:4: no anchor &b stands before *b\n  hint: quote a text that begins with *"},
	{"custom facts that copy", `{"custom":[` + strings.TrimSuffix(strings.Repeat(`{"path":"/f","text":"`+copying+`"},`, 11), ",") + `]}`, nil,
		"a facts file of the host: /f:2:4: aliases and merge keys copy too many values\n  hint: an alias (*name) and a merge key (<<) count as often as they are used"},
}

func TestDecode(t *testing.T) {
	for _, c := range reports {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := Decode(json.RawMessage(c.report))
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range reports {
		f.Add([]byte(c.report))
	}
	f.Fuzz(func(t *testing.T, report []byte) {
		tree, _, err := Decode(report)
		if err != nil {
			return
		}
		_, err = json.Marshal(tree)
		require.NoError(t, err, "facts are plain values")
	})
}
