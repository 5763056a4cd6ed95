package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
)

func TestReadExtra(t *testing.T) {
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
		{"a file", []string{"@" + yaml}, map[string]any{"port": int64(8080), "sites": []any{"shop"}}, ""},
		{"a map", []string{"{port: 8080, on: true}"}, map[string]any{"port": int64(8080), "on": true}, ""},
		{"JSON", []string{` {"port": 8080}`}, map[string]any{"port": int64(8080)}, ""},
		{"an empty file", []string{"@" + file("empty.yaml", "")}, map[string]any{}, ""},
		{"no =", []string{"port"}, nil, `-e "port": write key=value, @file.yaml or a YAML map`},
		{"no key", []string{"=1"}, nil, `-e "=1": write key=value, @file.yaml or a YAML map`},
		{"no file", []string{"@" + dir + "/none.yaml"}, nil, "reading " + dir + "/none.yaml: no such file or directory"},
		{"no map", []string{"@" + file("list.yaml", "- a\n")}, nil, dir + "/list.yaml:1:1: this is no map\n  hint: write key: value"},
		{"two documents", []string{"@" + file("two.yaml", "a: 1\n---\nb: 2\n")}, nil, dir + "/two.yaml:3:1: only one document is expected"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readExtra(test.args)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, templates.Merge(got))
		})
	}
}

func TestReadHieraRefusesUnknownKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hiera.yaml")
	require.NoError(t, os.WriteFile(path, []byte("data: {a: 1}\ndatum: {a: 2}\n"), 0o644))
	_, err := readHiera(path)
	require.EqualError(t, err, path+":2:1: unknown key \"datum\"\n  hint: it has data, hierarchy and overrides")
}
