package extravars

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestParseDocument(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       map[string]any
		err        string
	}{
		{"YAML", "a: 1\nb: [x]\n", map[string]any{"a": int64(1), "b": []any{"x"}}, ""},
		{"JSON", `{"a": 1, "b": ["x", null, true, 1.5, 1e2, {}]}`, map[string]any{"a": int64(1), "b": []any{"x", nil, true, 1.5, 100.0, map[string]any{}}}, ""},
		{"JSON indented with tabs", "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}\n", map[string]any{"a": map[string]any{"b": int64(1)}}, ""},
		{"escapes of JSON", `{"a": "x\/y\"\\\u00e9\n", "b\/": "\ud83d\ude00\\/", "c": "\ud83d!", "d": "\\ud83d"}`,
			map[string]any{"a": "x/y\"\\é\n", "b/": "😀\\/", "c": "\ufffd!", "d": `\ud83d`}, ""},
		{"YAML that is not JSON keeps its text", `a: '\/'`, map[string]any{"a": `\/`}, ""},
		{"nothing", "# nothing\n", nil, ""},
		{"null", "~", nil, ""},
		{"no map", "- a\n", nil, "f:1:1: this is not a map\n  hint: write key: value"},
		{"two documents", "a: 1\n---\nb: 2\n", nil, "f:3:1: only one document is expected"},
		{"a key given twice", `{"a": 1, "a": 2}`, nil, `f:1:10: key "a" is given twice, first at line 1`},
	} {
		t.Run(test.name, func(t *testing.T) {
			doc, err := parseDocument("f", []byte(test.text), nil)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, plainMap(doc))
		})
	}
}

// escapedJSON is a string of JSON in which every character is an escape.
func escapedJSON(s string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		if unit == '/' {
			b.WriteString(`\/`)
		} else {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return `"` + b.String() + `"`
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{"", "a/b", "😀", `\`, `\/`, "\"", "é\n", "\U0010ffff", "a\x00b", "{{ x }}", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		doc, err := parseDocument("f", []byte(`{"k": `+escapedJSON(s)+`}`), nil)
		require.NoError(t, err)
		require.Equal(t, map[string]any{"k": s}, plainMap(doc))
	})
}

func TestReadFacts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "facts.yaml")
	require.NoError(t, os.WriteFile(file, []byte("role: db\nport: 80\nsite: {dc: fra}\n"), 0o600))
	printed := func(name, text string) string {
		path := filepath.Join(filepath.Dir(file), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const web1 = "web1: {\n  \"host\": {\n    \"info\": {\"os\": \"linux\"}\n  }\n}\n"
	ofWeb1 := map[string]any{"host": map[string]any{"info": map[string]any{"os": "linux"}}}
	two := printed("two", web1+strings.ReplaceAll(web1, "web1", "db1"))
	for _, test := range []struct {
		name, file string
		pairs      []string
		want       map[string]any
		err        string
	}{
		{"none", "", nil, nil, ""},
		{"texts", "", []string{"port=80", "a=b=c", "empty="}, map[string]any{"port": "80", "a": "b=c", "empty": ""}, ""},
		{"dots mean nothing", "", []string{"site.dc=ber"}, map[string]any{"site.dc": "ber"}, ""},
		{"over the file", file, []string{"role=web", "site=x"}, map[string]any{"role": "web", "port": int64(80), "site": "x"}, ""},
		{"as ccm-push facts prints them", printed("text", web1), nil, ofWeb1, ""},
		{"as it prints them in JSON", printed("json", `{"host":"web1","facts":{"host":{"info":{"os":"linux"}}}}`), nil, ofWeb1, ""},
		{"facts with one key", printed("own", "site: {host: {name: x}}"), nil, map[string]any{"site": map[string]any{"host": map[string]any{"name": "x"}}}, ""},
		{"of several hosts", two, nil, nil, "the file " + two + " has the facts of 2 hosts: db1, web1\n  hint: --facts takes the facts of one host: ccm-push facts db1 > " + two},
		{"the last one wins", "", []string{"a=1", "a=2"}, map[string]any{"a": "2"}, ""},
		{"no text, no key", "", []string{"role", "=x"}, nil,
			"--fact \"role\": write KEY=VALUE; --facts FILE takes facts with types and levels\n" +
				"--fact \"=x\": write KEY=VALUE; --facts FILE takes facts with types and levels"},
	} {
		t.Run(test.name, func(t *testing.T) {
			facts, err := ReadFacts(t.Context(), test.file, test.pairs)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, facts)
		})
	}
}
