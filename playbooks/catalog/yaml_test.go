package catalog_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

func TestJSONOfYAML(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'h'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ",") + "]\n"
	}
	merges := strings.Repeat("{<<: ", 90) + "{" + strings.Repeat("k", 10)
	for i := range 2000 {
		merges += ", k" + strconv.Itoa(i) + ": "
	}
	merges += strings.Repeat("}", 91)
	tests := []struct{ name, in, want string }{
		{"YAML", "provider:\n  type: service\n  version: 1.10\n", `{"provider":{"type":"service","version":1.10}}`},
		{"with a byte order mark", "\ufeffa: 1\n", `{"a":1}`},
		{"JSON", "{\"a\": \"\\/ \\ud83d\\ude00\", \"n\": 18446744073709551616}", `{"a":"/ 😀","n":18446744073709551616}`},
		{"nothing", "# no more\n", "m.yaml: no YAML document"},
		{"several", "a: 1\n---\nb: 2\n", "m.yaml:3:1: expected one YAML document, found 2"},
		{"twice", "a: 1\na: 2\n", "m.yaml:2:1: key \"a\" is given twice, first at line 1"},
		{"twice in JSON", "{\"a\": 1,\n \"a\": 2}", "m.yaml:2:2: key \"a\" is given twice"},
		{"no YAML", "a: [1\n", "m.yaml:1: did not find expected ',' or ']'\n  hint: check the indentation of this line and the quotes and brackets before it"},
		{"bomb", bomb, "m.yaml:5:29: aliases and merge keys copy too many values\n  hint: use fewer aliases (*name) and merge keys (<<): each use copies their values"},
		{"merges", "a: {b: 1, <<: {<<: [{c: 2}, {b: 3}]}}", `{"a":{"b":1,"c":2}}`},
		{"merges within merges", merges, "m.yaml:1:202: aliases and merge keys copy too many values\n  hint: use fewer aliases (*name) and merge keys (<<): each use copies their values"},
		{"long texts", "a: &a " + strings.Repeat("x", 2000) + "\nb: [" + strings.Repeat("*a,", 1000) + "]\n",
			"m.yaml:1:4: more than 1024 KiB as JSON\n  hint: use fewer aliases (*name): each alias copies the value"},
		{"deep", strings.Repeat("[", 200) + strings.Repeat("]", 200) + "#", "m.yaml:1:102: nested more than 100 levels deep"},
		{"too long", strings.Repeat("#", modules.MaxParse+1), "m.yaml: the YAML document has more than 256 KiB"},
		{"a tag", "a: !!binary aGk=\n", "m.yaml:1:4: tag !!binary is not supported\n  hint: name a file instead, or write the text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := catalog.JSONOfYAML("m.yaml", []byte(tt.in))
			if err != nil {
				require.Equal(t, tt.want, err.Error())
				return
			}
			require.Equal(t, tt.want, string(got))
		})
	}
}

// TestYAMLWork checks that all work is counted, also for invalid documents.
func TestYAMLWork(t *testing.T) {
	w := &catalog.YAMLWork{}
	_, err := w.JSONOfYAML("", []byte("a: &a {x: 1, y: 2}\nb: *a\nc: {<<: *a}\n"))
	require.NoError(t, err)
	require.Equal(t, catalog.YAMLWork{Copied: 5 + 5 + 2, JSON: len(`{"a":{"x":1,"y":2},"b":{"x":1,"y":2},"c":{"x":1,"y":2}}`)}, *w)
	_, err = w.JSONOfYAML("", []byte("a: &a "+strings.Repeat("x", 2000)+"\nb: ["+strings.Repeat("*a,", 1000)+"]\n"))
	require.ErrorContains(t, err, "more than 1024 KiB as JSON")
	require.Equal(t, 12+1000, w.Copied)
	require.Greater(t, w.JSON, 1<<20)
}

// FuzzJSONOfYAML uses texts of a hostile host. The size of the result is bounded.
func FuzzJSONOfYAML(f *testing.F) {
	for _, s := range []string{"a: 1", "{\"a\": [1.0, \"\\ud800\"]}", "\ufeff- &a x\n- *a", "a: 1\n---\nb", "%YAML 1.1\n---\n!x y", "? {a: b}\n: c", "<<: [{a: 1}]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := catalog.JSONOfYAML("", in)
		if err != nil {
			return
		}
		require.True(t, json.Valid(out), "%q", out)
		require.LessOrEqual(t, len(out), 12*modules.MaxParse)
		again, err := catalog.JSONOfYAML("", in)
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
	})
}
