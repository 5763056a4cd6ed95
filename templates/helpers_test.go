package templates

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// openFiles makes a folder of a play.
func openFiles(tb testing.TB, content map[string]string) *Files {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(tb, os.WriteFile(path, []byte(text), 0o644))
	}
	files, err := Open(dir)
	require.NoError(tb, err)
	tb.Cleanup(func() { files.Close() })
	return files
}

// sampleEnv is one host.
func sampleEnv(files *Files) *Env {
	return &Env{
		Facts: map[string]any{
			"host": map[string]any{"info": map[string]any{"os": "linux", "platformVersion": "12.11"}},
			"network": map[string]any{"interfaces": []any{
				map[string]any{"name": "lo", "mtu": int64(65536)},
				map[string]any{"name": "eth0", "mtu": int64(1500)},
			}},
		},
		Data: map[string]any{
			"name": "web", "port": int64(8080), "ratio": 1.5, "whole": 2.0, "on": true, "off": false, "nothing": nil, "empty": "",
			"list":   []any{"a", "b", "c"},
			"nested": map[string]any{"port": int64(80), "a.b": "dotted", "with space": "s"},
			"users":  []any{map[string]any{"name": "ann", "id": int64(1)}, map[string]any{"name": "bob", "id": int64(2)}},
			"big":    1e21, "max": int64(9223372036854775807), "huge": 12345678901234567890.0, "tiny": 1e-9,
			"secret": "hunter2",
		},
		Environ: map[string]any{"HOME": "/root", "LANG": "C"},
		Files:   files,
	}
}

var manifest = Position{File: "site.yaml", Line: 7, Column: 12}

// errorText is the text of an error, "" if there is none.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func evalText(tb testing.TB, source string, env *Env) (any, error) {
	tb.Helper()
	text, err := Parse(source, manifest)
	if err != nil {
		return nil, err
	}
	return text.Eval(tb.Context(), env)
}

func yamlDocument(tb testing.TB, source string) *yamlpos.Node {
	tb.Helper()
	docs, err := yamlpos.Parse("data.yaml", []byte(source))
	require.NoError(tb, err)
	require.Len(tb, docs, 1)
	return docs[0]
}

// A countdown is a context that is over after it was looked at a number of
// times: a deadline without a clock.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}
