package ral

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// toJSON stands for the controller, which reads YAML.
func toJSON(text []byte) (json.RawMessage, error) {
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

// folder returns a copy of the providers of testdata, as a play's resources/, with more files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/providers")))
	for _, name := range []string{"kv.prov", "conf.prov", "canned.prov"} {
		require.NoError(t, os.Chmod(filepath.Join(dir, name), 0o755))
	}
	put(t, dir, files)
	return dir
}

// put writes files; providers are executable.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(name, suffix) {
			mode = 0o755
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
}

// read returns a file of a folder; "" if it is missing.
func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return string(text)
}

// hostWith returns this machine with the folder of a play.
func hostWith(dir string) modules.Host {
	h := modtest.Host()
	h.Resources = func(context.Context) (string, error) { return dir, nil }
	h.YAML = func(_ context.Context, text string) (json.RawMessage, error) { return toJSON([]byte(text)) }
	return h
}

// source returns the controller's source for a play with that folder.
func source(dir string) modules.Source {
	return modules.Source{Resources: func() fs.FS { return os.DirFS(dir) }, YAML: toJSON}
}

// prepared makes a resource as a controller does and sends it over the wire.
func prepared(t *testing.T, typ modules.Type, dir, properties string) *Ral {
	t.Helper()
	r := typ.New().(*Ral)
	require.NoError(t, json.Unmarshal([]byte(properties), r))
	modules.SetDefaults(r)
	require.NoError(t, r.Prepare(t.Context(), source(dir)))
	require.NoError(t, r.Validate())
	return wired(t, typ, r)
}

// wired returns a resource as received by a host.
func wired(t *testing.T, typ modules.Type, r *Ral) *Ral {
	t.Helper()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	res, err := modules.Registry{typ}.Decode("ral", text)
	require.NoError(t, err)
	return res.(*Ral)
}

// a run is a catalog of ral resources on this machine.
type run struct {
	dir     string
	entries []wire.Entry
	check   bool
}

// of makes a run of resources, given by their properties.
func of(t *testing.T, dir string, properties ...string) run {
	t.Helper()
	r := run{dir: dir}
	typ := Type()
	for _, p := range properties {
		res := prepared(t, typ, dir, p)
		text, err := json.Marshal(res)
		require.NoError(t, err)
		r.entries = append(r.entries, wire.Entry{Type: "ral", Name: res.Name, Properties: text})
	}
	return r
}

func (r run) checked() run { r.check = true; return r }

func (r run) results(t *testing.T) []*wire.Result {
	t.Helper()
	types := modules.Registry{Type(), exec.Type()}
	e := &engine.Engine{
		Decode: func(e *wire.Entry) (modules.Resource, error) { return types.Decode(e.Type, e.Properties) },
		Host:   hostWith(r.dir),
		Now:    time.Now,
	}
	var all []*wire.Result
	_, err := e.Run(t.Context(), &wire.Catalog{Check: r.check, Entries: r.entries}, func(one *wire.Result) error {
		if one.Status == "" {
			one.Status = wire.Stable
		}
		all = append(all, one)
		return nil
	})
	require.NoError(t, err)
	return all
}

// one runs a single resource.
func one(t *testing.T, dir, properties string) *wire.Result {
	t.Helper()
	return of(t, dir, properties).results(t)[0]
}

// brief returns a result in one line, without the output for debugging: see TestAllThatWasPrinted.
func brief(r *wire.Result) string {
	var b strings.Builder
	b.WriteString(string(r.Status))
	if r.Message != "" {
		b.WriteString(": " + r.Message)
	}
	if r.Error != "" {
		b.WriteString(": " + r.Error)
	}
	if r.ErrorKind != "" {
		b.WriteString(" [" + string(r.ErrorKind) + "]")
	}
	for _, c := range r.Changes {
		b.WriteString("\n  " + c.Property + ": " + c.Have + " -> " + c.Want)
	}
	for _, n := range r.Messages {
		if n.Level == modules.LevelDebug {
			continue
		}
		b.WriteString("\n  " + n.Level + ": " + n.Text)
	}
	return b.String()
}

func briefs(all []*wire.Result) string {
	var lines []string
	for _, r := range all {
		lines = append(lines, brief(r))
	}
	return strings.Join(lines, "\n")
}
