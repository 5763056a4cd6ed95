package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A part is a file that may be made together with others. A batch stops at the
// first bad one.
type part struct {
	Name string // path
	Kind string // the key of its batches
	Bad  bool
	log  *[]string
}

func (p *part) Validate() error { return nil }

func (p *part) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	if _, err := h.Files.Stat(p.Name); err == nil {
		return modules.Plan{}, nil
	}
	return modules.Plan{Action: "made " + filepath.Base(p.Name), Effects: []modules.Effect{{Kind: "part", Key: p.Name}}}, nil
}

func (p *part) Apply(ctx context.Context, h modules.Host, _ modules.Plan) error {
	*p.log = append(*p.log, filepath.Base(p.Name))
	return p.write(ctx, h)
}

func (p *part) write(ctx context.Context, h modules.Host) error {
	if p.Bad {
		return errors.New("bad " + filepath.Base(p.Name))
	}
	return h.Files.Write(ctx, p.Name, strings.NewReader("x"), modules.Attributes{Mode: 0o600, UID: -1, GID: -1})
}

func (p *part) BatchKey(modules.Plan) string { return p.Kind }

func (p *part) ApplyBatch(ctx context.Context, h modules.Host, batch []modules.Planned) error {
	var names []string
	for _, m := range batch {
		names = append(names, filepath.Base(m.Resource.(*part).Name))
	}
	*p.log = append(*p.log, strings.Join(names, "+"))
	h.Report.Message("info", "together")
	for _, m := range batch {
		if err := m.Resource.(*part).write(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

func TestBatch(t *testing.T) {
	entry := func(p part, change ...func(*wire.Entry)) wire.Entry {
		properties, _ := json.Marshal(p)
		e := wire.Entry{Type: "part", Name: p.Name, Properties: properties}
		for _, c := range change {
			c(&e)
		}
		return e
	}
	requires := func(i int) func(*wire.Entry) { return func(e *wire.Entry) { e.Require = []int{i} } }
	subscribes := func(e *wire.Entry) { e.Subscribe = []int{0} }
	excluded := func(e *wire.Entry) { e.Excluded = true }
	noop := func(e *wire.Entry) { e.Check = true }
	a, b, c, d := part{Name: "a", Kind: "k"}, part{Name: "b", Kind: "k"}, part{Name: "c", Kind: "k"}, part{Name: "d", Kind: "k"}
	bad := part{Name: "bad", Kind: "k", Bad: true}
	for _, test := range []struct {
		name    string
		entries []wire.Entry
		catalog wire.Catalog
		there   []string // before
		want    string
		log     string
	}{
		{name: "neighbours", entries: []wire.Entry{entry(a), entry(b), entry(c)}, want: "changed changed changed", log: "a+b+c"},
		{name: "one alone", entries: []wire.Entry{entry(a)}, want: "changed", log: "a"},
		{name: "no key", entries: []wire.Entry{entry(part{Name: "a"}), entry(part{Name: "b"})}, want: "changed changed", log: "a b"},
		{name: "two keys", entries: []wire.Entry{entry(a), entry(b), entry(part{Name: "e", Kind: "l"}), entry(c)}, want: "changed changed changed changed", log: "a+b e c"},
		{name: "one that is there", entries: []wire.Entry{entry(a), entry(b), entry(c), entry(d)}, there: []string{"b"}, want: "changed stable changed changed", log: "a c+d"},
		{name: "a bad one", entries: []wire.Entry{entry(a), entry(bad), entry(c), entry(d)}, want: "changed failed changed changed", log: "a+bad+c+d bad c d"},
		{name: "the first is bad", entries: []wire.Entry{entry(bad), entry(c)}, want: "failed changed", log: "bad+c bad c"},
		{name: "the same twice", entries: []wire.Entry{entry(a), entry(a), entry(b)}, want: "changed stable changed", log: "a b"},
		{name: "it requires one of them", entries: []wire.Entry{entry(a), entry(b), entry(c, requires(1)), entry(d)}, want: "changed changed changed changed", log: "a+b c+d"},
		{name: "its requirement is met", entries: []wire.Entry{entry(a), entry(part{Name: "e", Kind: "l"}), entry(b, requires(0)), entry(c, requires(0))}, want: "changed changed changed changed", log: "a e b+c"},
		{name: "its requirement has failed", entries: []wire.Entry{entry(bad), entry(part{Name: "e", Kind: "l"}), entry(a), entry(b, requires(0)), entry(c)}, want: "failed changed changed skipped changed", log: "bad e a c"},
		{name: "it subscribes", entries: []wire.Entry{entry(a), entry(b, subscribes)}, want: "changed failed", log: "a"},
		{name: "excluded", entries: []wire.Entry{entry(a), entry(b, excluded), entry(c)}, want: "changed skipped changed", log: "a c"},
		{name: "only predicted", entries: []wire.Entry{entry(a), entry(b, noop), entry(c)}, want: "changed changed changed", log: "a c"},
		{name: "only its health checks", entries: []wire.Entry{entry(a), entry(b, func(e *wire.Entry) { e.Monitor = true }), entry(c)}, want: "changed stable changed", log: "a c"},
		{name: "nothing goes on after a failure", catalog: wire.Catalog{FailOnError: true}, entries: []wire.Entry{entry(a), entry(bad), entry(c)}, want: "changed failed skipped", log: "a bad"},
		{name: "across scopes", entries: []wire.Entry{entry(a), entry(b), nested(1), entry(c), entry(d)}, want: "changed changed changed changed changed", log: "a b c+d"},
		{name: "within a scope that a failure ends", entries: []wire.Entry{entry(a), entry(bad), entry(c), nested(3, func(e *wire.Entry) { e.Scope.FailOnError = true })}, want: "changed failed skipped failed", log: "a bad"},
		{name: "a check run", catalog: wire.Catalog{Check: true}, entries: []wire.Entry{entry(a), entry(b)}, want: "changed changed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range test.there {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
			}
			var log []string
			test.catalog.Entries = test.entries
			results := runParts(t, dir, &log, test.catalog, nil)
			require.Equal(t, test.want, brief(results), "%+v", results)
			require.Equal(t, test.log, strings.Join(log, " "))
		})
	}
}

// runParts runs a catalog of parts in dir and logs the applied ones.
func runParts(t *testing.T, dir string, log *[]string, cat wire.Catalog, stop func() bool) []wire.Result {
	t.Helper()
	e := enginetest.New()
	e.Stop = stop
	e.Decode = func(entry *wire.Entry) (modules.Resource, error) {
		p := &part{log: log}
		err := json.Unmarshal(entry.Properties, p)
		p.Name = filepath.Join(dir, p.Name)
		return p, err
	}
	results, _ := enginetest.Run(t, e, "", cat)
	return results
}

// TestBatchIsReported checks the result of each member when the run is stopped after the batch.
func TestBatchIsReported(t *testing.T) {
	var entries []wire.Entry
	for _, properties := range []string{`{"Name":"a","Kind":"k"}`, `{"Name":"bad","Kind":"k","Bad":true}`, `{"Name":"c","Kind":"k"}`, `{"Name":"d","Kind":"l"}`} {
		entries = append(entries, wire.Entry{Type: "part", Properties: json.RawMessage(properties)})
	}
	asked := 0
	var log []string
	results := runParts(t, t.TempDir(), &log, wire.Catalog{Entries: entries}, func() bool { asked++; return asked > 1 })
	require.Equal(t, "a+bad+c bad c", strings.Join(log, " "))
	for i := range results {
		require.Equal(t, i, results[i].Index)
		results[i].Duration = 0
	}
	require.Equal(t, []wire.Result{
		{Index: 0, Status: wire.Changed, Message: "made a", Messages: []modules.Note{{Level: "info", Text: "together"}}},
		{Index: 1, Status: wire.Failed, Error: "bad bad"},
		{Index: 2, Status: wire.Changed, Message: "made c"},
	}, results)
}

// An asker is stable if the thing that it reads has the desired value.
type asker struct {
	modules.Resource
	reads modules.EffectKind
}

func (a asker) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	_, err := h.Commands.Probe(ctx, modules.Command{Argv: []string{"true"}, Reads: a.reads})
	return modules.Plan{}, err
}

func TestProbesOfOneKind(t *testing.T) {
	dir := t.TempDir()
	made := wire.Entry{Type: "part", Properties: json.RawMessage(`{"Name":"a"}`)}
	command := wire.Entry{Type: "exec", Properties: json.RawMessage(`{"name":"true"}`)}
	for _, test := range []struct {
		name  string
		first []wire.Entry
		reads modules.EffectKind
		want  string
	}{
		{"nothing is pending", nil, "", "stable"},
		{"something is pending", []wire.Entry{made}, "", "changed stable?"},
		{"something of another kind is pending", []wire.Entry{made}, "package", "changed stable"},
		{"something of its kind is pending", []wire.Entry{made}, "part", "changed stable?"},
		{"anything may happen", []wire.Entry{made, command}, "package", "changed changed? stable?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := enginetest.New()
			decode := e.Decode
			e.Decode = func(entry *wire.Entry) (modules.Resource, error) {
				switch entry.Type {
				case "part":
					return &part{Name: filepath.Join(dir, "a")}, nil
				case "asker":
					return asker{reads: test.reads}, nil
				}
				return decode(entry)
			}
			results, _ := enginetest.Run(t, e, "", wire.Catalog{Check: true, Entries: append(test.first, wire.Entry{Type: "asker"})})
			require.Equal(t, test.want, brief(results))
		})
	}
}
