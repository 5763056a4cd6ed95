package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A keptHost is a host that keeps the notes of runs.
type keptHost struct {
	t     *testing.T
	dir   string // replaces $
	store *mortalJournal
	reads int // reads of the notes by the last run
}

func newKeptHost(t *testing.T) *keptHost {
	return &keptHost{t: t, dir: t.TempDir(), store: &mortalJournal{m: &mortal{}}}
}

// run returns the results that are not stable as "STATUS NAME CAUSE".
func (h *keptHost) run(cat wire.Catalog, finished ...*notes.Finished) (all []string) {
	h.t.Helper()
	e := enginetest.New(modules.Type{Name: "gauge", New: func() modules.Resource { return new(gauge) }})
	e.Applied, e.Reversals = h.store, &mortalJournal{m: &mortal{}}
	e.Finished = map[int]*notes.Finished{}
	for _, f := range finished {
		e.Finished[f.Result.Index] = f
	}
	cat = enginetest.In(h.dir, cat)
	if !cat.Check {
		cat.Lock = &wire.Lock{Run: "r"}
	}
	before := h.store.reads
	results, _ := enginetest.Run(h.t, e, h.dir, cat)
	h.reads = h.store.reads - before
	for _, r := range results {
		if r.Status != "" {
			name := strings.ReplaceAll(cat.Entries[r.Index].Name, h.dir, "$")
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Status, name, r.Cause)))
		} else {
			require.Empty(h.t, r.Cause)
		}
	}
	return all
}

func (h *keptHost) check(entries ...wire.Entry) []string {
	h.t.Helper()
	writes := h.store.writes
	all := h.run(wire.Catalog{Check: true, Entries: entries})
	require.Equal(h.t, writes, h.store.writes, "a check run writes nothing")
	return all
}

// both expects the same from a check run and a real one.
func (h *keptHost) both(want []string, entries ...wire.Entry) {
	h.t.Helper()
	require.Equal(h.t, want, h.check(entries...), "predicted")
	require.Equal(h.t, want, h.run(wire.Catalog{Entries: entries}))
}

func (h *keptHost) tamper(name string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.dir, name), []byte("by somebody else"), 0o644))
}

func (h *keptHost) remove(name string) {
	h.t.Helper()
	require.NoError(h.t, os.Remove(filepath.Join(h.dir, name)))
}

func textFile(name, content string) wire.Entry {
	return enginetest.File("$/"+name, `"mode":"0644","content":"`+content+`"`)
}

func TestCauseOfChanges(t *testing.T) {
	h := newKeptHost(t)
	h.both([]string{"changed $/a intent", "changed $/b intent"}, textFile("a", "1"), textFile("b", "1"))
	h.both(nil, textFile("a", "1"), textFile("b", "1"))
	h.tamper("a")
	h.both([]string{"changed $/a drift"}, textFile("a", "1"), textFile("b", "1"))
	h.both([]string{"changed $/b intent"}, textFile("a", "1"), textFile("b", "2"))
	h.both([]string{"changed $/b intent"}, textFile("a", "1"), textFile("b", "1")) // and back
	h.tamper("b")
	h.both([]string{"changed $/b intent"}, textFile("a", "1"), textFile("b", "3")) // both have changed

	// By other plays of the host, too.
	h.tamper("b")
	h.both([]string{"changed $/c intent", "changed $/b drift"}, textFile("c", "1"), textFile("b", "3"))
}

// A stable resource counts as left, as does one that has changed before its health check failed.
func TestCauseOfWhatWasFound(t *testing.T) {
	h := newKeptHost(t)
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "a"), []byte("1"), 0o644))
	require.Empty(t, h.run(wire.Catalog{Entries: []wire.Entry{textFile("a", "1")}}))
	h.tamper("a")
	h.both([]string{"changed $/a drift"}, textFile("a", "1"))

	unwell := enginetest.With(textFile("b", "1"), func(e *wire.Entry) {
		e.Health = []wire.HealthCheck{{Name: "no", Argv: []string{"/bin/sh", "-c", "exit 2"}, Tries: 1, Timeout: 1e10}}
	})
	require.Equal(t, []string{"failed $/b intent"}, h.run(wire.Catalog{Entries: []wire.Entry{unwell}}))
	h.tamper("b")
	require.Equal(t, []string{"failed $/b drift"}, h.run(wire.Catalog{Entries: []wire.Entry{unwell}}))
}

func TestCauseOfCommands(t *testing.T) {
	h := newKeptHost(t)
	always := enginetest.Command("true", "")
	creates := enginetest.Command("touch $/made", `"creates":"$/made"`)
	unless := enginetest.Command("cp $/a $/copy", `"unless":"cmp -s $/a $/copy"`)
	all := func(a string) []wire.Entry { return []wire.Entry{always, textFile("a", a), creates, unless} }
	h.run(wire.Catalog{Entries: all("1")})
	h.both([]string{"changed true intent"}, all("1")...)
	h.remove("made")
	h.both([]string{"changed true intent", "changed touch $/made drift"}, all("1")...)
	h.tamper("copy")
	h.both([]string{"changed true intent", "changed cp $/a $/copy drift"}, all("1")...)
	h.tamper("a") // the file is put right, and then its copy is
	h.run(wire.Catalog{Entries: []wire.Entry{unless}})
	require.Equal(t, []string{"changed true intent", "changed $/a drift", "changed cp $/a $/copy drift"}, h.run(wire.Catalog{Entries: all("1")}))
	// After a change of the manifest, a guard lets a command run because of it.
	require.Equal(t, []string{"changed true intent", "changed $/a intent", "changed cp $/a $/copy intent"}, h.run(wire.Catalog{Entries: all("2")}))
	// In a graph, if it comes after that.
	graph := all("3")
	require.Equal(t, []string{"changed true intent", "changed $/a intent"}, h.run(wire.Catalog{Parallel: 1, Entries: graph[:2]}))
	graph = all("4")
	graph[3].After = []int{1}
	h.remove("made")
	require.ElementsMatch(t, []string{"changed true intent", "changed $/a intent", "changed touch $/made drift", "changed cp $/a $/copy intent"},
		h.run(wire.Catalog{Parallel: 3, Entries: graph}))
}

func TestCauseOfRefreshes(t *testing.T) {
	h := newKeptHost(t)
	all := func(a string) []wire.Entry {
		list := []wire.Entry{textFile("a", a), enginetest.Command("true", `"refreshonly":true`), enginetest.Command("touch $/made", `"creates":"$/made"`)}
		list[1].Subscribe, list[2].Subscribe = []int{0}, []int{0}
		return list
	}
	h.both([]string{"changed $/a intent", "changed true notified", "changed touch $/made intent"}, all("1")...)
	h.both([]string{"changed $/a intent", "changed true notified", "changed touch $/made notified"}, all("2")...)
	h.tamper("a")
	h.both([]string{"changed $/a drift", "changed true notified", "changed touch $/made notified"}, all("2")...)
	h.remove("made")
	h.tamper("a")
	h.both([]string{"changed $/a drift", "changed true notified", "changed touch $/made drift"}, all("2")...)
}

// A nested manifest has the cause of its first change.
func TestCauseOfNestedManifests(t *testing.T) {
	h := newKeptHost(t)
	nested := wire.Entry{Type: "apply", Name: "n", Scope: &wire.Scope{Entries: 2}}
	h.run(wire.Catalog{Entries: []wire.Entry{textFile("a", "1"), textFile("b", "1"), nested}})
	h.tamper("a")
	h.both([]string{"changed $/a drift", "changed $/b intent", "changed n drift"}, textFile("a", "1"), textFile("b", "2"), nested)
	require.Empty(t, h.run(wire.Catalog{Entries: []wire.Entry{textFile("a", "1"), textFile("b", "2"), nested}}))
	writes := h.store.writes
	require.Empty(t, h.run(wire.Catalog{Entries: []wire.Entry{textFile("a", "1"), textFile("b", "2"), nested}}))
	require.Equal(t, writes, h.store.writes)
}

// A prediction of noop is not left, and does not change the notes.
func TestCauseOfNoop(t *testing.T) {
	h := newKeptHost(t)
	noop := func(e wire.Entry) wire.Entry { e.Check = true; return e }
	h.run(wire.Catalog{Entries: []wire.Entry{textFile("a", "1")}})
	require.Equal(t, []string{"changed $/a intent"}, h.run(wire.Catalog{Entries: []wire.Entry{noop(textFile("a", "2"))}}))
	h.tamper("a")
	require.Equal(t, []string{"changed $/a drift"}, h.run(wire.Catalog{Entries: []wire.Entry{noop(textFile("a", "1"))}}))
	require.Equal(t, []string{"changed $/a intent", "changed $/a drift"}, h.run(wire.Catalog{Entries: []wire.Entry{noop(textFile("a", "2")), textFile("a", "1")}}))
}

// A failure has a cause if it was about to change something.
func TestCauseOfFailures(t *testing.T) {
	h := newKeptHost(t)
	broken := enginetest.File("$/missing/a", `"mode":"0644","content":"1"`)
	require.Equal(t, []string{"failed $/missing/a"}, h.run(wire.Catalog{Entries: []wire.Entry{broken}}))
	require.NoError(t, os.Mkdir(filepath.Join(h.dir, "missing"), 0o755))
	require.Equal(t, []string{"changed $/missing/a intent"}, h.run(wire.Catalog{Entries: []wire.Entry{broken}}))
	require.NoError(t, os.RemoveAll(filepath.Join(h.dir, "missing")))
	require.Equal(t, []string{"failed $/missing/a"}, h.run(wire.Catalog{Entries: []wire.Entry{broken}}))
	require.NoError(t, os.Mkdir(filepath.Join(h.dir, "missing"), 0o755))
	require.Equal(t, []string{"changed $/missing/a drift"}, h.run(wire.Catalog{Entries: []wire.Entry{broken}}), "a failure changes nothing")

	failing := enginetest.Command("false", "")
	require.Equal(t, []string{"failed false"}, h.run(wire.Catalog{Entries: []wire.Entry{failing}}))

	// Of several tries the first that changed something counts.
	tried := enginetest.Command("test -e $/go || { touch $/go; false; }", `"unless":"test -e $/go"`)
	tried.Retry = 1
	require.Equal(t, []string{"changed " + tried.Name + " intent"}, h.run(wire.Catalog{Entries: []wire.Entry{tried}}))
}

// A run that continues after a lost connection reports the same causes, and records the resources as left.
func TestCauseOfWhatWasFinished(t *testing.T) {
	h := newKeptHost(t)
	entries := []wire.Entry{textFile("a", "1"), textFile("b", "1"), enginetest.Command("touch $/c", `"unless":"test -e $/c"`)}
	h.run(wire.Catalog{Entries: entries})
	h.remove("c")
	entries[0] = textFile("a", "2")
	h.tamper("a")
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "a"), []byte("2"), 0o644))
	done := &notes.Finished{Result: &wire.Result{Status: wire.Changed, Cause: wire.Intent}, Changed: true}
	require.Equal(t, []string{"changed touch $/c intent"}, h.run(wire.Catalog{Entries: entries}, done), "it may follow from what was finished")
	h.tamper("a")
	h.both([]string{"changed $/a drift"}, entries...)
}

func TestCauseOfWhatWasReceived(t *testing.T) {
	h := newKeptHost(t)
	receiving := func(value string) []wire.Entry {
		return []wire.Entry{
			{Type: "gauge", Name: "t", Properties: []byte(`{"name":"t","fine":true,"port":"` + value + `"}`)},
			enginetest.Receiving(enginetest.File("$/a", `"mode":"0644"`), wire.Receive{Property: "content", From: 0, Key: "state.port"}),
		}
	}
	h.both([]string{"changed $/a intent"}, receiving("1")...)
	h.tamper("a")
	h.both([]string{"changed $/a drift"}, receiving("1")...)
	h.both([]string{"changed $/a intent"}, receiving("2")...)
	h.tamper("a")
	h.both([]string{"changed $/a drift"}, receiving("2")...)
}

// Notes that cannot be read are warned of once, and give no cause.
func TestCauseIsNotKnown(t *testing.T) {
	h := newKeptHost(t)
	h.store.readErr = errors.New("others can write to it")
	require.Equal(t, []string{"changed $/a"}, h.run(wire.Catalog{Entries: []wire.Entry{textFile("a", "1"), textFile("b", "1")}})[:1])
	require.Zero(t, h.store.writes)
}

// A run in which nothing is new reads the notes once and writes nothing, and a check run
// that predicts no change does not even look.
func TestCauseCostsNothing(t *testing.T) {
	h := newKeptHost(t)
	h.run(wire.Catalog{Entries: []wire.Entry{textFile("a", "1")}})
	require.Equal(t, 1, h.store.writes)
	h.run(wire.Catalog{Entries: []wire.Entry{textFile("a", "1")}})
	require.Equal(t, 1, h.store.writes)
	require.Equal(t, 1, h.reads)
	h.check(textFile("a", "1"))
	require.Zero(t, h.reads)
}

// A resource that has left the manifest is put back because the manifest has changed.
func TestCauseOfReversals(t *testing.T) {
	h := newKeptHost(t)
	h.tamper("a")
	back := &mortalJournal{m: &mortal{}}
	run := func(entries ...wire.Entry) (causes []wire.Cause) {
		e := enginetest.New()
		e.Applied, e.Reversals = h.store, back
		cat := whole(entries...)
		cat.Lock = &wire.Lock{Run: "r"}
		results, _ := enginetest.Run(t, e, h.dir, enginetest.In(h.dir, cat))
		for _, r := range results {
			causes = append(causes, r.Cause)
		}
		return causes
	}
	with := reversed(textFile("a", "1"))
	require.Equal(t, []wire.Cause{wire.Intent}, run(with...))
	require.Equal(t, []wire.Cause{wire.Intent}, run())
	require.Equal(t, []wire.Cause{wire.Intent}, run(with...), "since it was put back, the manifest has changed again")
	h.tamper("a")
	require.Equal(t, []wire.Cause{wire.Drift}, run(with...))
}

// Members of a batch have causes of their own.
func TestCauseInBatches(t *testing.T) {
	h := newKeptHost(t)
	var log []string
	run := func(names ...string) (told []string) {
		e := enginetest.New(modules.Type{Name: "part", New: func() modules.Resource { return &part{log: &log} }})
		e.Applied = h.store
		cat := wire.Catalog{Lock: &wire.Lock{Run: "r"}}
		for _, name := range names {
			cat.Entries = append(cat.Entries, wire.Entry{Type: "part", Name: "$/" + name, Properties: []byte(`{"name":"$/` + name + `","kind":"k"}`)})
		}
		results, _ := enginetest.Run(t, e, h.dir, enginetest.In(h.dir, cat))
		for _, r := range results {
			told = append(told, string(r.Cause))
		}
		return told
	}
	require.Equal(t, []string{"intent", "intent"}, run("a", "b"))
	h.remove("a")
	h.remove("b")
	require.Equal(t, []string{"drift", "drift"}, run("a", "b"))
	h.remove("a")
	require.Equal(t, []string{"drift", "", "intent"}, run("a", "b", "c"))
	require.Equal(t, []string{"a+b", "a+b", "a", "c"}, log[:4])
}
