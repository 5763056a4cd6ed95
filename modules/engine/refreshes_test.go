package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// crash ends a run in the middle, as SIGKILL would.
type crash struct{}

// A mortal counts what a run does to its host, and dies at one of these steps:
// before it is done, or right after.
type mortal struct {
	mu    sync.Mutex // several jobs may run at once
	steps int
	dies  int // step of the death; 0 means none
	after bool
	last  string // last step before the death

	refuse error // error of writing a file
}

func (m *mortal) step(what string, do func() error) error {
	if what == "write" && m.refuse != nil {
		return m.refuse
	}
	m.mu.Lock()
	m.steps++
	now := m.steps == m.dies
	m.mu.Unlock()
	if now && !m.after {
		panic(crash{})
	}
	err := do()
	m.mu.Lock()
	m.last = what
	m.mu.Unlock()
	if now {
		panic(crash{})
	}
	return err
}

// steps executes the steps of a run, or dies.
type steps interface {
	step(what string, do func() error) error
}

// dying is a host that changes only in steps.
func dying(h modules.Host, by steps) modules.Host {
	h.Files.FileWriter, h.Commands = dyingFiles{h.Files.FileWriter, by}, dyingCommands{h.Commands, by}
	return h
}

type dyingFiles struct {
	modules.FileWriter
	by steps
}

func (f dyingFiles) Write(ctx context.Context, path string, r io.Reader, a modules.Attributes) error {
	return f.by.step("write", func() error { return f.FileWriter.Write(ctx, path, r, a) })
}

func (f dyingFiles) WriteIf(ctx context.Context, path string, r io.Reader, a modules.Attributes, approve func(string) error) error {
	return f.by.step("write", func() error { return f.FileWriter.WriteIf(ctx, path, r, a, approve) })
}

type dyingCommands struct {
	modules.Commands
	by steps
}

func (c dyingCommands) Run(ctx context.Context, cmd modules.Command) (exit modules.Exit, err error) {
	err = c.by.step("run", func() error {
		exit, err = c.Commands.Run(ctx, cmd)
		return err
	})
	return exit, err
}

// mortalJournal is a journal in memory that fails on request.
type mortalJournal struct {
	m       *mortal
	text    []byte
	reads   int
	writes  int
	readErr error
	full    error
	stuck   error
}

func (j *mortalJournal) Read() ([]byte, error) { j.reads++; return j.text, j.readErr }
func (j *mortalJournal) MayWrite() error       { return errors.Join(j.stuck, j.full) }

func (j *mortalJournal) Replace(text []byte) error {
	return j.m.step("journal", func() error {
		if j.full == nil {
			j.text = text
			j.writes++
		}
		return j.full
	})
}

func (j *mortalJournal) SetAside() (string, error) {
	if j.stuck != nil {
		return "", j.stuck
	}
	j.text, j.readErr = nil, nil
	return "/aside", nil
}

// runMortal takes a catalog through an engine that may die.
func runMortal(t *testing.T, m *mortal, j *mortalJournal, cat wire.Catalog) (results []wire.Result, died bool) {
	t.Helper()
	j.m = m
	e := enginetest.New()
	e.Host = dying(e.Host, m)
	e.Now = func() time.Time { return time.Unix(0, 0) }
	e.Refreshes = j
	defer func() {
		if got := recover(); got != nil {
			if _, ok := got.(crash); !ok {
				panic(got)
			}
			died = true
		}
	}()
	_, err := e.Run(t.Context(), &cat, func(r *wire.Result) error {
		results = append(results, *r)
		return nil
	})
	require.NoError(t, err)
	return results, false
}

// A fable is a random catalog of files and commands that react to them, in a
// folder of its own. Each command counts how often it has run.
type fable struct {
	dir     string
	entries []wire.Entry
	changes []bool // whether each file changes in the new version
}

func makeFable(rng *rand.Rand, dir string) *fable {
	f := &fable{dir: dir}
	for i := range 2 + rng.IntN(5) {
		if i == 0 || rng.IntN(2) == 0 {
			f.entries = append(f.entries, wire.Entry{Type: "file", Name: fmt.Sprintf("%s/f%d", dir, i)})
			f.changes = append(f.changes, rng.IntN(2) == 0)
			continue
		}
		line := fmt.Sprintf("echo x >> %s/ran%d", dir, i)
		if rng.IntN(4) == 0 {
			line = fmt.Sprintf("echo x >> %s/ran%d", dir, rng.IntN(i)) // called as another one, perhaps
		}
		e := command(line, `"refreshonly":true`)
		for j := range i {
			if rng.IntN(2) == 0 {
				e.Subscribe = append(e.Subscribe, j)
			}
		}
		if len(e.Subscribe) > 0 && rng.IntN(4) == 0 {
			e.Require = e.Subscribe[:1]
		}
		f.entries = append(f.entries, e)
		f.changes = append(f.changes, false)
	}
	return f
}

// catalog is the manifest before or after the change.
func (f *fable) catalog(version int, check bool) wire.Catalog {
	cat := wire.Catalog{Check: check, Lock: &wire.Lock{Run: fmt.Sprint("v", version)}}
	for i, e := range f.entries {
		if e.Type == "file" {
			text := "0"
			if f.changes[i] {
				text = fmt.Sprint(version)
			}
			e = file(e.Name, `"mode":"0600","content":"`+text+`"`)
		}
		cat.Entries = append(cat.Entries, e)
	}
	return cat
}

// expected returns how often each command has to run because of the change, by its name.
func (f *fable) expected() map[string]int {
	changed := slices.Clone(f.changes)
	want := map[string]int{}
	for i, e := range f.entries {
		if e.Type == "exec" && slices.ContainsFunc(e.Subscribe, func(j int) bool { return changed[j] }) {
			changed[i] = true
			want[e.Name]++
		}
	}
	return want
}

// ran returns how often each command has run since the last call.
func (f *fable) ran(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, e := range f.entries {
		if e.Type != "exec" {
			continue
		}
		path := strings.TrimPrefix(e.Name, "echo x >> ")
		text, err := os.ReadFile(path)
		if err == nil {
			counts[e.Name] = strings.Count(string(text), "x")
			require.NoError(t, os.Remove(path))
		}
	}
	return counts
}

func refreshed(results []wire.Result) (list []int) {
	for _, r := range results {
		if r.Refreshed {
			list = append(list, r.Index)
		}
	}
	return list
}

// TestNoRefreshIsLost kills a run at each of its steps. The next run, predicted,
// refreshes what the killed one did not, and nothing else; the third does nothing.
func TestNoRefreshIsLost(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		for _, after := range []bool{false, true} {
			for dies, died := 1, true; died; dies++ {
				f := makeFable(rand.New(rand.NewPCG(seed, 1)), t.TempDir())
				what := fmt.Sprintf("seed %d, killed at step %d (after it: %v)", seed, dies, after)
				j := &mortalJournal{}
				runMortal(t, &mortal{}, j, f.catalog(1, false))
				f.ran(t)
				require.Empty(t, j.text, what)

				m := &mortal{dies: dies, after: after}
				_, died = runMortal(t, m, j, f.catalog(2, false))
				first := f.ran(t)
				predicted, _ := runMortal(t, &mortal{}, j, f.catalog(2, true))
				second, _ := runMortal(t, &mortal{}, j, f.catalog(2, false))
				require.Equal(t, brief(second), strings.ReplaceAll(brief(predicted), "?", ""), what)
				require.Equal(t, refreshed(second), refreshed(predicted), what)
				total := f.ran(t)
				for name, n := range first {
					total[name] += n
				}
				want := f.expected()
				if died && m.last == "run" {
					// That command had run, but its result was lost.
					again := 0
					for name := range total {
						again += total[name] - want[name]
						require.GreaterOrEqual(t, total[name], want[name], what)
					}
					require.LessOrEqual(t, again, 1, what)
				} else {
					require.Equal(t, want, total, what)
				}
				require.Empty(t, j.text, what)
				third, _ := runMortal(t, &mortal{}, j, f.catalog(2, false))
				require.NotContains(t, brief(third), "changed", what)
				require.Empty(t, f.ran(t), what)
			}
		}
	}
}

// TestDue checks the notes run by run: their causes and their subscribers.
func TestDue(t *testing.T) {
	const text = `"mode":"0600","content":"x"`
	on := func(e wire.Entry, targets ...int) wire.Entry { e.Subscribe = targets; return e }
	type step struct {
		entries func(dir string) []wire.Entry
		check   bool
		fail    bool // fail_on_error of the catalog
		with    func(*mortal, *mortalJournal)
		want    string // brief results
		says    string // messages of the results that matter
		due     string // journal afterwards
	}
	conf := func(dir string) wire.Entry { return file(dir+"/conf", text) }
	touch := func(dir string) wire.Entry {
		return wire.Entry{Type: "exec", Name: "touch", Properties: []byte(`{"name":"touch","command":"touch ` + dir + `/ran","refreshonly":true}`)}
	}
	flag := func(dir string) wire.Entry {
		return wire.Entry{Type: "exec", Name: "flag", Properties: []byte(`{"name":"flag","command":"test -e ` + dir + `/flag"}`)}
	}
	pair := func(dir string) []wire.Entry { return []wire.Entry{conf(dir), on(touch(dir), 0)} }
	unmet := func(dir string) []wire.Entry {
		e := on(touch(dir), 0)
		e.Require = []int{1}
		return []wire.Entry{conf(dir), flag(dir), e}
	}
	noop := func(dir string) []wire.Entry {
		return []wire.Entry{conf(dir), with(on(touch(dir), 0), func(e *wire.Entry) { e.Check = true })}
	}
	excluded := func(dir string) []wire.Entry {
		return []wire.Entry{conf(dir), {Type: "exec", Name: "touch", Excluded: true}}
	}
	refuse := func(m *mortal, _ *mortalJournal) { m.refuse = errors.New("refused") }
	owes := `{"refresh":[{"resource":"exec#touch","changed":"file#DIR/conf","run":"R","time":"1970-01-01T00:00:00Z"}]}`
	says := "executed via subscribe; file#DIR/conf had changed in run R, which did not get to it"
	failing := func(dir string) []wire.Entry {
		return []wire.Entry{flag(dir), on(touch(dir), 0)}
	}
	failed := `{"refresh":[{"resource":"exec#touch","changed":"exec#flag","run":"R","failed":true,"time":"1970-01-01T00:00:00Z"}]}`
	// A command that fails, a file, another command that fails, which the fourth
	// requires or does not: that one subscribes to the first two.
	mixed := func(require bool) func(dir string) []wire.Entry {
		return func(dir string) []wire.Entry {
			e := on(touch(dir), 0, 1)
			if require {
				e.Require = []int{2}
			}
			return []wire.Entry{flag(dir), conf(dir), command("test -e "+dir+"/other", ""), e}
		}
	}
	for name, steps := range map[string][]step{
		"nothing is due": {
			{entries: pair, want: "changed changed*", says: "executed via subscribe"},
			{entries: pair, want: "stable stable"},
		},
		"an unmet requirement": {
			{entries: unmet, want: "changed failed skipped", due: owes},
			{entries: unmet, want: "stable failed skipped", due: owes},
			{entries: pair, check: true, want: "stable changed*?", says: "Would have " + says, due: owes},
			{entries: pair, want: "stable changed*", says: says},
			{entries: pair, want: "stable stable"},
		},
		"the run ends with a failure": {
			{entries: unmet, fail: true, want: "changed failed skipped", due: owes},
			{entries: noop, want: "stable changed*?", says: "Would have " + says, due: owes},
			{entries: excluded, want: "stable skipped", due: owes},
			{entries: pair, want: "stable changed*", says: says},
		},
		"for a noop resource nothing is noted": {
			{entries: noop, want: "changed changed*?", says: "Would have executed via subscribe"},
			{entries: pair, want: "stable stable"},
		},
		"what has failed has changed nothing": {
			{entries: pair, with: refuse, want: "failed stable"},
		},
		"what has failed may have changed something": {
			{entries: failing, want: "failed stable", due: failed},
			{entries: failing, check: true, want: "changed? changed*?", due: failed},
			{entries: failing, want: "failed stable", due: failed}, // it is not refreshed every time
			{entries: func(dir string) []wire.Entry {
				return []wire.Entry{file(dir+"/flag", text), flag(dir), on(touch(dir), 1)}
			}, want: "changed changed changed*"},
		},
		"a failure hides no change": {
			{entries: mixed(true), want: "failed changed failed skipped", due: owes},
			{entries: mixed(false), check: true, want: "changed? stable? changed? changed*?", says: "Would have " + says, due: owes},
			{entries: mixed(false), want: "failed stable failed changed*", says: says, due: failed},
			{entries: mixed(false), want: "failed stable failed stable", due: failed},
		},
		"nor does one of an earlier run": {
			{entries: failing, want: "failed stable", due: failed},
			{entries: mixed(true), want: "failed changed failed skipped", due: owes},
			{entries: mixed(false), want: "failed stable failed changed*", says: says, due: failed},
		},
		"what fails again is noted as long as it does": {
			{entries: failing, want: "failed stable", due: failed},
			{entries: mixed(false), want: "failed changed failed changed*", says: "executed via subscribe", due: failed},
			{entries: mixed(false), want: "failed stable failed stable", due: failed},
			{entries: mixed(false), with: refuse, want: "failed stable failed stable", due: failed},
		},
		"what changes nothing is not noted over a failure": {
			{entries: failing, want: "failed stable", due: failed},
			{entries: mixed(false), with: refuse, want: "failed failed failed stable", due: failed},
		},
		"it cannot be noted": {
			{entries: pair, with: func(_ *mortal, j *mortalJournal) { j.full = errors.New("disk full") }, want: "failed stable",
				says: "not done, because the refreshes that it causes cannot be recorded: disk full"},
			{entries: pair, check: true, with: func(_ *mortal, j *mortalJournal) { j.full = errors.New("disk full") }, want: "failed stable",
				says: "not done, because the refreshes that it causes cannot be recorded: disk full"},
			{entries: pair, want: "changed changed*", says: "executed via subscribe"},
		},
		"nobody subscribes, so it does not matter": {
			{entries: func(dir string) []wire.Entry { return []wire.Entry{conf(dir)} },
				with: func(_ *mortal, j *mortalJournal) { j.readErr, j.full = errors.New("bad"), errors.New("disk full") }, want: "changed"},
		},
		"a damaged journal": {
			{entries: pair, want: "changed changed*", says: "executed via subscribe"},
			{entries: pair, check: true, with: func(_ *mortal, j *mortalJournal) { j.text = []byte("{") }, want: "stable changed*?",
				says: "the record of due refreshes cannot be read, so all resources that subscribe are refreshed: unexpected EOF Would have executed via subscribe; it may be due: the journal of refreshes was damaged", due: "{"},
			{entries: unmet, want: "stable failed skipped", says: "the record of due refreshes cannot be read, so all resources that subscribe are refreshed: unexpected EOF; it is now /aside",
				due: `{"refresh":[{"resource":"exec#touch","time":"1970-01-01T00:00:00Z"}]}`},
			{entries: pair, want: "stable changed*", says: "executed via subscribe; it may be due: the journal of refreshes was damaged"},
			{entries: pair, want: "stable stable"},
		},
		"a damaged journal that stays where it is": {
			{entries: pair, with: func(_ *mortal, j *mortalJournal) { j.readErr, j.stuck = errors.New("not ours"), errors.New("no way") }, want: "failed failed",
				says: "not done, because the refreshes that it causes cannot be recorded: the record of due refreshes cannot be read: not ours; no way the record of due refreshes cannot be read: not ours; no way"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j := &mortalJournal{}
			for n, s := range steps {
				m := &mortal{}
				j.readErr, j.full, j.stuck = nil, nil, nil
				if s.with != nil {
					s.with(m, j)
				}
				results, _ := runMortal(t, m, j, wire.Catalog{Check: s.check, FailOnError: s.fail, Entries: s.entries(dir), Lock: &wire.Lock{Run: "R"}})
				require.Equal(t, s.want, brief(results), "step %d: %+v", n, results)
				require.Equal(t, s.due, strings.TrimSpace(strings.ReplaceAll(string(j.text), dir, "DIR")), "step %d", n)
				if s.says != "" {
					var said []string
					for _, r := range results {
						for _, note := range r.Messages {
							said = append(said, note.Text)
						}
						if strings.Contains(r.Message, "subscribe") {
							said = append(said, r.Message)
						}
						if strings.Contains(r.Error, "refresh") {
							said = append(said, r.Error)
						}
					}
					require.Equal(t, s.says, strings.ReplaceAll(strings.Join(said, " "), dir, "DIR"), "step %d", n)
				}
			}
		})
	}
}

// TestNoRefreshIsLostBehindAFailure kills a run in which one target of a command
// fails, as it does in every run, and another one changes.
func TestNoRefreshIsLostBehindAFailure(t *testing.T) {
	for order := range 2 {
		for _, after := range []bool{false, true} {
			for dies, died := 1, true; died; dies++ {
				dir := t.TempDir()
				what := fmt.Sprintf("order %d, killed at step %d (after it: %v)", order, dies, after)
				catalog := func(version int) wire.Catalog {
					targets := []wire.Entry{
						command("test -e "+dir+"/never", ""),
						file(dir+"/conf", fmt.Sprintf(`"mode":"0600","content":"%d"`, version)),
					}
					reload := command("echo x >> "+dir+"/ran", `"refreshonly":true`)
					reload.Subscribe = []int{0, 1}
					return wire.Catalog{Entries: []wire.Entry{targets[order], targets[1-order], reload}, Lock: &wire.Lock{Run: "R"}}
				}
				ran := func() int {
					text, _ := os.ReadFile(dir + "/ran")
					return strings.Count(string(text), "x")
				}
				j := &mortalJournal{}
				runMortal(t, &mortal{}, j, catalog(1))
				require.Equal(t, 1, ran(), what)
				quiet := string(j.text)
				m := &mortal{dies: dies, after: after}
				_, died = runMortal(t, m, j, catalog(2))
				want := 2
				if died && ran() == 2 && string(j.text) != quiet { // it has run, but its result was lost
					want = 3
				}
				runMortal(t, &mortal{}, j, catalog(2))
				require.Equal(t, want, ran(), what)
				require.Equal(t, quiet, string(j.text), what)
				before := ran()
				runMortal(t, &mortal{}, j, catalog(2))
				require.Equal(t, before, ran(), what)
			}
		}
	}
}

// TestACommandThatFailedMayFailAgain checks a command whose refresh an earlier run has left.
func TestACommandThatFailedMayFailAgain(t *testing.T) {
	dir := t.TempDir()
	reload := command("test -e "+dir+"/up", `"refreshonly":true`)
	reload.Subscribe = []int{0}
	cat := wire.Catalog{Entries: []wire.Entry{file(dir+"/conf", `"mode":"0600"`), reload}, Lock: &wire.Lock{Run: "R"}}
	j, check := &mortalJournal{}, cat
	check.Check = true
	results, _ := runMortal(t, &mortal{}, j, check)
	require.Equal(t, modules.Likely, results[1].Grade)
	results, _ = runMortal(t, &mortal{}, j, cat)
	require.Equal(t, "changed failed*", brief(results))
	results, _ = runMortal(t, &mortal{}, j, check)
	require.Equal(t, "stable changed*?", brief(results))
	require.Equal(t, modules.Unknown, results[1].Grade)
}

// TestDueCosts counts the journal's reads and writes in a converged run.
func TestDueCosts(t *testing.T) {
	dir := t.TempDir()
	j := &mortalJournal{}
	alone := wire.Catalog{Entries: []wire.Entry{file(dir+"/a", `"mode":"0600"`)}}
	runMortal(t, &mortal{}, j, alone)
	require.Equal(t, 0, j.reads+j.writes)
	var many wire.Catalog
	for i := range 10 {
		many.Entries = append(many.Entries, file(fmt.Sprint(dir, "/b", i), `"mode":"0600"`))
	}
	for i := range 10 {
		e := command(fmt.Sprintf("touch %s/c%d", dir, i), `"refreshonly":true`)
		e.Subscribe = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
		many.Entries = append(many.Entries, e)
	}
	runMortal(t, &mortal{}, j, many)
	require.Equal(t, []int{1, 11}, []int{j.reads, j.writes}, "once before the first change, and once after each refresh")
	runMortal(t, &mortal{}, j, many)
	require.Equal(t, []int{2, 11}, []int{j.reads, j.writes})
}

// TestDueInNestedManifests has a resource subscribe to a nested manifest.
func TestDueInNestedManifests(t *testing.T) {
	dir := t.TempDir()
	entries := func(fail bool) []wire.Entry {
		reload := command("touch "+dir+"/ran", `"refreshonly":true`)
		reload.Subscribe = []int{2}
		check := command("test -e "+dir+"/flag", "")
		if !fail {
			check = command("true", `"onlyif":"false"`)
		}
		return []wire.Entry{
			file(dir+"/conf", `"mode":"0600","content":"x"`), check,
			{Type: "apply", Name: "child.yaml", Scope: &wire.Scope{Entries: 2}},
			reload,
		}
	}
	j := &mortalJournal{}
	results, _ := runMortal(t, &mortal{}, j, wire.Catalog{Entries: entries(true)})
	require.Equal(t, "changed failed failed stable", brief(results))
	require.Contains(t, string(j.text), dir+"/conf")
	results, _ = runMortal(t, &mortal{}, j, wire.Catalog{Entries: entries(false)})
	require.Equal(t, "stable stable stable changed*", brief(results))
	require.Empty(t, j.text)
}

// TestFailureThatIsSkipped: a refresh that is due because of a failure waits until the resource that failed
// has succeeded. A skip because of a requirement is not a success.
func TestFailureThatIsSkipped(t *testing.T) {
	for _, parallel := range []int{0, 1} {
		dir := t.TempDir()
		j := &mortalJournal{}
		run := func(line string) string {
			results, _ := runEntries(t, dir, wire.Catalog{Entries: []wire.Entry{command(line, "")}})
			require.Equal(t, "changed", brief(results))
			results, _ = runMortal(t, &mortal{}, j, enginetest.In(dir, wire.Catalog{Parallel: parallel, Entries: []wire.Entry{
				command("test -e $/open", ""),
				with(command("touch $/half; test -e $/ok", ""), func(e *wire.Entry) { e.Require = []int{0} }),
				with(command("echo", `"refreshonly":true`), func(e *wire.Entry) { e.Subscribe = []int{1} }),
			}}))
			return brief(results)
		}
		require.Equal(t, "changed failed stable", run("touch $/open"))
		require.Equal(t, "failed skipped stable", run("rm $/open"))
		require.Equal(t, "changed changed changed*", run("touch $/open $/ok"))
		require.Empty(t, j.text)
	}
}
