package extravars

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	yaml := file("a.yaml", "port: 8080\nsites: [shop]\n")
	for _, test := range []struct {
		name string
		args []string
		want map[string]any
		err  string
	}{
		{"none", nil, map[string]any{}, ""},
		{"a value is a string", []string{"port=8080"}, map[string]any{"port": "8080"}, ""},
		{"a value has a =", []string{"a=b=c"}, map[string]any{"a": "b=c"}, ""},
		{"an empty value", []string{"a="}, map[string]any{"a": ""}, ""},
		{"the last one wins", []string{"a=1", "a=2"}, map[string]any{"a": "2"}, ""},
		{"several", []string{"a=1 b=2\tc=3\n d= "}, map[string]any{"a": "1", "b": "2", "c": "3", "d": ""}, ""},
		{"one key several times", []string{"a=1 a=2"}, map[string]any{"a": "2"}, ""},
		{"blanks in quotes", []string{`a="1 2" b='3 4' c=5`}, map[string]any{"a": "1 2", "b": "3 4", "c": "5"}, ""},
		{"quotes around one value", []string{`a="1"`, `b=''`}, map[string]any{"a": "1", "b": ""}, ""},
		{"quotes in quotes", []string{`a="say \"it's\"" b='a\\b \' "'`}, map[string]any{"a": `say "it's"`, "b": `a\b ' "`}, ""},
		{"quotes within a value stay", []string{`a={"x":"y z"} b="c"d"e"`}, map[string]any{"a": `{"x":"y z"}`, "b": `"c"d"e"`}, ""},
		{"a quote that is none", []string{"a=it's", `b="`, `c=x"y`}, map[string]any{"a": "it's", "b": `"`, "c": `x"y`}, ""},
		{"backslashes stay", []string{`a=C:\dir\n b=\' c="\n"`}, map[string]any{"a": `C:\dir\n`, "b": `\'`, "c": `\n`}, ""},
		{"an expression is a text", []string{`a={{Facts.x}}`}, map[string]any{"a": "{{Facts.x}}"}, ""},
		{"a file", []string{"@" + yaml}, map[string]any{"port": int64(8080), "sites": []any{"shop"}}, ""},
		{"a file of JSON", []string{"@" + file("a.json", "{\n\t\"a\": \"\\ud83d\\ude00\"\n}\n")}, map[string]any{"a": "😀"}, ""},
		{"a file twice", []string{"@" + yaml, "port=1", "@" + yaml}, map[string]any{"port": int64(8080), "sites": []any{"shop"}}, ""},
		{"a map", []string{"{port: 8080, on: true}"}, map[string]any{"port": int64(8080), "on": true}, ""},
		{"JSON", []string{` {"port": 8080}`}, map[string]any{"port": int64(8080)}, ""},
		{"an empty file", []string{"@" + file("empty.yaml", "")}, map[string]any{}, ""},
		{"no =", []string{"port"}, nil, `-e "port": the argument is not understood; write key=value, @file.yaml or a YAML map`},
		{"no key", []string{"=1"}, nil, `-e "=…": the argument is not understood; write key=value, @file.yaml or a YAML map`},
		{"nothing", []string{""}, nil, `-e "": the argument is not understood; write key=value, @file.yaml or a YAML map`},
		{"blanks", []string{"  "}, nil, `-e "  ": the argument is not understood; write key=value, @file.yaml or a YAML map`},
		{"blanks around the =", []string{"a = 1"}, nil, `-e "a": the argument is not understood; write key=value, @file.yaml or a YAML map`},
		{"a list", []string{"[1]"}, nil, `-e "[1]": the argument is not understood; write key=value, @file.yaml or a YAML map`},
		{"an expression with blanks", []string{"a=x{{ Data.b + 'c d' }} b={{ Data.c }}"}, map[string]any{"a": "x{{ Data.b + 'c d' }}", "b": "{{ Data.c }}"}, ""},
		{"an expression that does not end", []string{"a={{ b"}, nil,
			"-e a=…: the text after the space is not key=value\n  hint: put a value with spaces in quotes: -e 'a=\"…\"'"},
		{"a blank without quotes", []string{"msg=hello world"}, nil,
			"-e msg=…: the text after the space is not key=value\n  hint: put a value with spaces in quotes: -e 'msg=\"…\"'"},
		{"a blank before =", []string{"a=1 b=2 =3"}, nil,
			"-e b=…: the text after the space is not key=value\n  hint: put a value with spaces in quotes: -e 'b=\"…\"'"},
		{"an open quote", []string{"a=1 msg=it's me"}, nil,
			"-e msg=…: a quote is not closed\n  hint: write a value with a quote as YAML: -e '{msg: \"…\"}'"},
		{"no file", []string{"@" + dir + "/none.yaml"}, nil, "reading " + dir + "/none.yaml: no such file or directory"},
		{"no map", []string{"@" + file("list.yaml", "- a\n")}, nil, dir + "/list.yaml:1:1: this is not a map\n  hint: write key: value"},
		{"a bad map", []string{"{a: 1, a: 2}"}, nil, `-e:1:8: key "a" is given twice, first at line 1`},
		{"two documents", []string{"@" + file("two.yaml", "a: 1\n---\nb: 2\n")}, nil, dir + "/two.yaml:3:1: only one document is expected"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Read(t.Context(), test.args, nil, nil)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, templates.Merge(got))
		})
	}
}

func TestReadExtraKnowsWhereValuesStand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	require.NoError(t, os.WriteFile(path, []byte("a: 1\nb: 1\nc: 1\n"), 0o644))
	layers, err := Read(t.Context(), []string{"@" + path, "{b: 2}", "c=2"}, nil, nil)
	require.NoError(t, err)
	for key, want := range map[string]string{"a": path + ":1:4", "b": "-e:1:5"} {
		origins := templates.Origins(layers, []string{key})
		require.Len(t, origins, 1)
		require.Equal(t, "-e", origins[0].Layer)
		require.Equal(t, want, origins[0].Node.Pos())
	}
	require.Equal(t, []templates.Origin{{Layer: "-e"}}, templates.Origins(layers, []string{"c"}))
}

// FuzzRead holds that a value in quotes comes out as it is, and that an
// error shows nothing of a value.
func FuzzRead(f *testing.F) {
	for _, value := range []string{"", "a b", `"`, `'`, `\`, `\"`, `a\`, "\n", "=", "x=y z", "{{ x }}", "@file", "{a: 1}"} {
		f.Add(value, "k="+value)
	}
	f.Fuzz(func(t *testing.T, value, arg string) {
		for _, quote := range []string{`"`, `'`} {
			quoted := quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(value) + quote
			layers, err := Read(t.Context(), []string{"a=1 k=" + quoted + " z=2"}, nil, nil)
			require.NoError(t, err)
			require.Equal(t, map[string]any{"a": "1", "k": value, "z": "2"}, templates.Merge(layers))
		}
		if strings.HasPrefix(arg, "@") || strings.HasPrefix(strings.TrimSpace(arg), "{") {
			return
		}
		if _, err := Read(t.Context(), []string{"k=1hunter2 " + arg}, nil, nil); err != nil && !strings.Contains(arg, "hunter2") {
			require.NotContains(t, err.Error(), "hunter2")
		}
	})
}

func TestExtraShowsNoSecrets(t *testing.T) {
	for _, arg := range []string{"{password: *s3cret}", "{password: !s3cret x}", "{a: [s3cret}"} {
		_, err := Read(t.Context(), []string{arg}, nil, nil)
		require.Error(t, err, arg)
		require.NotContains(t, err.Error(), "s3cret", arg)
		require.Contains(t, err.Error(), "-e:1:")
	}
	for _, from := range []string{"https:/u:s3cret@h/x", "u:s3cret@h/x"} {
		_, err := ReadHiera(t.Context(), from, "", nil, nil)
		require.EqualError(t, err, "--hiera: the value is not a file, and a URL must begin with https:// (ccm-push does not print the value, because it may contain a password)")
	}
}
