package dsc

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// A bench is a folder resources/ and a host that it has been put on.
type bench struct {
	*testing.T
	resources string // the folder
	root      string // files of the resources
	said      []string
	state     modules.State
	exit      *modules.Exit
}

// bench makes one with the programs of testdata in it.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, resources: t.TempDir(), root: t.TempDir()}
	for _, name := range []string{"thing.py", "line.sh", "first.pl"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		b.write(name, string(text))
		require.NoError(t, os.Chmod(filepath.Join(b.resources, name), 0o700))
	}
	return b
}

// write writes a file to the folder resources/. $ROOT is the other folder.
func (b *bench) write(name, text string) {
	b.Helper()
	path := filepath.Join(b.resources, name)
	require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(b, os.WriteFile(path, []byte(strings.ReplaceAll(text, "$ROOT", b.root)), 0o600))
}

// resource adds a manifest of DSC 3: the members describe type Test/Thing.
func (b *bench) resource(members string) {
	b.Helper()
	b.write("thing.dsc.resource.json", `{"$schema": "https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json",
		"type": "Test/Thing", "version": "1.0.0", `+members+`}`)
}

// thing returns an operation of thing.py; more are additional members.
func thing(operation, args, more string) string {
	all := `"thing.py", "` + operation + `"`
	if args != "" {
		all += ", " + args
	}
	if !strings.Contains(more, `"input"`) {
		more += `, "input": "stdin"`
	}
	return `"` + operation + `": {"executable": "python3", "args": [` + all + `]` + more + `}`
}

// anySchema allows everything.
const anySchema = `"schema": {"embedded": {"type": "object"}}`

// Message implements [modules.Reporter].
func (b *bench) Message(level, text string) { b.said = append(b.said, level+": "+text) }

// Output implements [modules.Reporter].
func (b *bench) Output(e modules.Exit) { b.exit = &e }

// State implements [modules.Reporter].
func (b *bench) State(s modules.State) {
	if s.Before != nil {
		b.state.Before = s.Before
	}
	if s.After != nil {
		b.state.After = s.After
	}
	if s.Restart != nil {
		b.state.Restart = s.Restart
	}
}

// host returns the machine of the test, with the folder on it.
func (b *bench) host() modules.Host {
	h := modtest.Host()
	h.Report = b
	h.Resources = func(context.Context) (string, error) { return b.resources, nil }
	h.YAML = func(_ context.Context, text string) (json.RawMessage, error) { return yamlJSON([]byte(text)) }
	return h
}

// checking returns the host as Check sees it.
func (b *bench) checking() modules.Host {
	h := modules.ReadOnly(b.host())
	h.Report = b
	return h
}

// source returns the source of a controller with the folder.
func (b *bench) source() modules.Source {
	return modules.Source{Resources: func() fsFS { return os.DirFS(b.resources) }, YAML: yamlJSON}
}

// instance returns an instance of a type as in a catalog. $ROOT is expanded.
func (b *bench) instance(typ, properties string) *DSC {
	b.Helper()
	d, err := b.prepared(`{"name": "x", "type": "` + typ + `", "properties": ` + properties + `}`)
	require.NoError(b, err)
	return d
}

// prepared takes properties through Prepare and over the wire.
func (b *bench) prepared(text string) (*DSC, error) {
	b.Helper()
	types := modules.Registry{Type()}
	res, err := types.Decode("dsc", []byte(strings.ReplaceAll(text, "$ROOT", b.root)))
	if err != nil {
		return nil, err
	}
	if err := res.(*DSC).Prepare(b.Context(), b.source()); err != nil {
		return nil, err
	}
	wire, err := json.Marshal(res)
	require.NoError(b, err)
	if res, err = types.Decode("dsc", wire); err != nil {
		return nil, err
	}
	return res.(*DSC), nil
}

// check returns the plan of an instance.
func (b *bench) check(d *DSC) (modules.Plan, error) {
	b.Helper()
	before := modtest.Snapshot(b.T, b.root)
	plan, err := d.Check(b.Context(), b.checking())
	plan.Effects, plan.Steps = nil, nil
	if !b.logs() {
		require.Equal(b, before, modtest.Snapshot(b.T, b.root), "Check has changed something")
	}
	return plan, err
}

// run checks, applies and verifies, and returns the first error.
func (b *bench) run(d *DSC) error {
	b.Helper()
	plan, err := d.Check(b.Context(), b.checking())
	if err != nil || !plan.Pending() {
		return err
	}
	if err := d.Apply(b.Context(), b.host(), plan); err != nil {
		return err
	}
	return d.Verify(b.Context(), b.checking(), plan)
}

// logs reports whether the resources write down how they are called, which is a
// change by itself.
func (b *bench) logs() bool {
	_, err := os.Stat(filepath.Join(b.root, "log"))
	return err == nil
}

// calls returns the operations that have been called, and forgets them.
func (b *bench) calls() []string {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.root, "log"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(b, err)
	require.NoError(b, os.Remove(filepath.Join(b.root, "log")))
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// keep writes a file in the place where thing.py writes it.
func (b *bench) keep(name, text string) {
	b.Helper()
	require.NoError(b, os.WriteFile(filepath.Join(b.root, name), []byte(text), 0o600))
}

// kept returns the content of a file.
func (b *bench) kept(name string) string {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.root, name))
	if os.IsNotExist(err) {
		return "(absent)"
	}
	require.NoError(b, err)
	return string(text)
}

type fsFS = fs.FS

// yamlJSON stands for the controller, which reads YAML for a host.
func yamlJSON(text []byte) (json.RawMessage, error) {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	return json.Marshal(plainKeys(v))
}

func plainKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plainKeys(v[key])
		}
	case map[any]any:
		m := map[string]any{}
		for key, item := range v {
			b, _ := json.Marshal(key)
			m[string(b)] = plainKeys(item)
		}
		return m
	case []any:
		for i := range v {
			v[i] = plainKeys(v[i])
		}
	}
	return v
}
