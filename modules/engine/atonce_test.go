package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// randomGraph returns a catalog of real files, directories and commands in $. Each depends on some earlier entries. A
// command fails if one of its requirements has not run.
func randomGraph(random *rand.Rand) wire.Catalog {
	var cat wire.Catalog
	var dirs []int
	made := map[int]string{} // entry → the path that is there after it
	for i := range 5 + random.IntN(35) {
		var e wire.Entry
		var require []int
		for range random.IntN(4) {
			if i > 0 {
				require = append(require, random.IntN(i))
			}
		}
		slices.Sort(require)
		require = slices.Compact(require)
		parent := "$"
		if len(dirs) > 0 && random.IntN(2) == 0 {
			dir := dirs[random.IntN(len(dirs))]
			require = append(require, dir)
			parent = made[dir]
		}
		path := fmt.Sprintf("%s/%d", parent, i)
		switch random.IntN(6) {
		case 0:
			e = file(path, `"ensure":"directory","mode":"0755"`)
			dirs = append(dirs, i)
		case 1, 2:
			e = file(path, fmt.Sprintf(`"content":"%d","mode":"0600"`, i))
		case 3:
			e = command(fmt.Sprintf("false # %d", i), "")
			path = ""
		case 4: // only if something has changed that it subscribes to
			e = command("touch "+path, `"refreshonly":true`)
			if i > 0 {
				e.Subscribe = []int{random.IntN(i)}
			}
			path = ""
		default:
			var tests []string
			for _, j := range require {
				if made[j] != "" {
					tests = append(tests, "test -e "+made[j])
				}
			}
			e = command(strings.Join(append(tests, "touch "+path), " && "), `"creates":"`+path+`"`)
		}
		made[i] = path
		e.Require = require
		cat.Entries = append(cat.Entries, e)
	}
	return cat
}

// clone is a catalog that can be run without the other one being changed.
func clone(cat wire.Catalog) wire.Catalog {
	cat.Entries = slices.Clone(cat.Entries)
	return cat
}

// snapshot returns the contents of a directory.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if !d.IsDir() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(b)
		}
		tree[strings.TrimPrefix(path, dir)] = info.Mode().String() + " " + text
		return nil
	}))
	return tree
}

// words are the results in the order of the catalog, without what differs between runs.
func words(results []wire.Result) []string {
	results = slices.Clone(results)
	slices.SortFunc(results, func(a, b wire.Result) int { return cmp.Compare(a.Index, b.Index) })
	var all []string
	for _, r := range results {
		if r.Exit != nil {
			r.Exit.Elapsed = 0
		}
		b, _ := json.Marshal(r)
		all = append(all, string(b))
	}
	return all
}

func TestResultsDoNotDependOnParallel(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			cat := randomGraph(rand.New(rand.NewPCG(uint64(seed), 7)))
			before, trees := [][]string{}, []map[string]string{}
			for _, parallel := range []int{1, 2, 8} {
				dir := t.TempDir()
				check := clone(cat)
				check.Check, check.Parallel = true, parallel
				predicted, _ := runEntries(t, dir, check)
				run := clone(cat)
				run.Parallel = parallel
				results, stopped := runEntries(t, dir, run)
				require.False(t, stopped)
				require.Len(t, results, len(cat.Entries))
				position := map[int]int{}
				for at, r := range results {
					position[r.Index] = at
				}
				require.Len(t, position, len(cat.Entries), "each once")
				for i, e := range cat.Entries {
					for _, j := range slices.Concat(e.Require, e.Subscribe) {
						require.Less(t, position[j], position[i], "%d needs %d", i, j)
					}
				}
				actual := map[int]wire.Result{}
				for _, r := range results {
					actual[r.Index] = r
				}
				for _, p := range predicted {
					if p.Grade == modules.Certain {
						require.Equal(t, p.Status, actual[p.Index].Status, "%+v %+v", p, actual[p.Index])
					}
				}
				before, trees = append(before, words(results)), append(trees, snapshot(t, dir))
				again, _ := runEntries(t, dir, clone(run))
				for _, r := range again {
					require.NotEqual(t, wire.Changed, r.Status, "%+v", r)
				}
			}
			require.Equal(t, before[0], before[1])
			require.Equal(t, before[0], before[2])
			require.Equal(t, trees[0], trees[1])
			require.Equal(t, trees[0], trees[2])
		})
	}
}

// A guest waits in Apply until as many are there as it expects.
type guest struct {
	Name  string
	Fail  bool
	party *party
	here  bool
}

type party struct {
	mu       sync.Mutex
	expected int
	now      int
	most     int
	arrived  []string
	all      chan struct{} // closed once all are there
}

func (g *guest) Validate() error { return nil }

func (g *guest) Check(context.Context, modules.Host) (modules.Plan, error) {
	if g.here {
		return modules.Plan{}, nil
	}
	return modules.Plan{Action: "came"}, nil
}

func (g *guest) Apply(ctx context.Context, _ modules.Host, _ modules.Plan) error {
	p := g.party
	p.mu.Lock()
	p.arrived = append(p.arrived, g.Name)
	p.now++
	p.most = max(p.most, p.now)
	if len(p.arrived) == p.expected {
		close(p.all)
	}
	p.mu.Unlock()
	select {
	case <-p.all:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.mu.Lock()
	p.now--
	p.mu.Unlock()
	g.here = true
	if g.Fail {
		return fmt.Errorf("%s fell ill", g.Name)
	}
	return nil
}

// invite runs guests, of whom expected are at work at once.
func invite(t *testing.T, expected int, cat wire.Catalog, change func(*engine.Engine)) (*party, []wire.Result, bool) {
	t.Helper()
	p := &party{expected: expected, all: make(chan struct{})}
	e := enginetest.New()
	e.Decode = func(e *wire.Entry) (modules.Resource, error) {
		return &guest{Name: e.Name, party: p, Fail: strings.HasPrefix(e.Name, "bad")}, nil
	}
	if change != nil {
		change(e)
	}
	results, stopped := enginetest.Run(t, e, "", cat)
	slices.SortFunc(results, func(a, b wire.Result) int { return cmp.Compare(a.Index, b.Index) })
	return p, results, stopped
}

func guests(names ...string) wire.Catalog {
	cat := wire.Catalog{Parallel: 3}
	for _, name := range names {
		cat.Entries = append(cat.Entries, wire.Entry{Type: "guest", Name: name})
	}
	return cat
}

func TestAtOnce(t *testing.T) {
	t.Run("three of five at a time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { // a bubble fails if a goroutine waits for ever
			p, results, stopped := invite(t, 3, guests("a", "b", "c", "d", "e"), nil)
			require.False(t, stopped)
			require.Equal(t, 3, p.most)
			require.Equal(t, "changed changed changed changed changed", brief(results))
		})
	})
	t.Run("a chain is one after the other", func(t *testing.T) {
		cat := guests("a", "b", "c")
		cat.Entries[1].Require, cat.Entries[2].After = []int{0}, []int{1}
		p, results, _ := invite(t, 1, cat, nil)
		require.Equal(t, 1, p.most)
		require.Equal(t, []string{"a", "b", "c"}, p.arrived)
		require.Equal(t, "changed changed changed", brief(results))
	})
	t.Run("what depends on a failure is skipped, the rest goes on", func(t *testing.T) {
		cat := guests("bad", "b", "c", "d", "e")
		cat.Entries[2].Require, cat.Entries[3].Require, cat.Entries[4].After = []int{0}, []int{2}, []int{0}
		_, results, _ := invite(t, 1, cat, nil)
		require.Equal(t, "failed changed skipped skipped changed", brief(results))
		require.Equal(t, "guest#c", results[3].Because)
	})
	t.Run("fail_on_error begins nothing more", func(t *testing.T) {
		cat := guests("bad", "b", "c", "d", "e")
		cat.FailOnError = true
		for i := 1; i < 5; i++ {
			cat.Entries[i].After = []int{0}
		}
		p, results, stopped := invite(t, 1, cat, nil)
		require.False(t, stopped)
		require.Equal(t, []string{"bad"}, p.arrived)
		require.Equal(t, "failed skipped skipped skipped skipped", brief(results))
	})
	t.Run("stop lets those that have begun end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var p *party
			_, results, stopped := invite(t, 3, guests("a", "b", "c", "d", "e"), func(e *engine.Engine) {
				e.Decode = decodeTo(e.Decode, &p)
				e.Stop = func() bool {
					p.mu.Lock()
					defer p.mu.Unlock()
					return len(p.arrived) == 3
				}
			})
			require.True(t, stopped)
			require.Equal(t, "changed changed changed", brief(results))
		})
	})
	t.Run("a nested manifest sums up when all of it has ended", func(t *testing.T) {
		cat := guests("a", "b", "sum", "after")
		cat.Entries[2].Scope, cat.Entries[3].Require = &wire.Scope{Entries: 2}, []int{2}
		p, results, _ := invite(t, 1, cat, nil)
		require.Equal(t, "after", p.arrived[2])
		require.Equal(t, "changed 2 of 2 resources", results[2].Message)
	})
}

// decodeTo keeps the party of the resources.
func decodeTo(decode func(*wire.Entry) (modules.Resource, error), p **party) func(*wire.Entry) (modules.Resource, error) {
	return func(e *wire.Entry) (modules.Resource, error) {
		res, err := decode(e)
		*p = res.(*guest).party
		return res, err
	}
}

func TestBatchAtOnce(t *testing.T) {
	dir := t.TempDir()
	var log []string
	e := enginetest.New()
	e.Decode = func(e *wire.Entry) (modules.Resource, error) {
		if e.Type == "guest" {
			p := &party{expected: 1, all: make(chan struct{})}
			return &guest{Name: e.Name, party: p}, nil
		}
		return &part{Name: filepath.Join(dir, e.Name), Kind: "k", Bad: strings.HasPrefix(e.Name, "bad"), log: &log}, nil
	}
	cat := wire.Catalog{Parallel: 4}
	add := func(typ, name string, require ...int) {
		cat.Entries = append(cat.Entries, wire.Entry{Type: typ, Name: name, Require: require})
	}
	add("part", "a")          // 0
	add("guest", "x")         // 1
	add("part", "b")          // 2: goes with a
	add("part", "bad")        // 3: so does this
	add("part", "late", 1)    // 4
	add("part", "needy", 3)   // 5: is skipped
	add("guest", "y", 0, 2)   // 6
	add("part", "last", 0, 6) // 7
	results, _ := enginetest.Run(t, e, "", cat)
	slices.SortFunc(results, func(a, b wire.Result) int { return cmp.Compare(a.Index, b.Index) })
	require.Equal(t, "changed changed changed failed changed skipped changed changed", brief(results))
	require.Equal(t, "bad bad", results[3].Error)
	require.Contains(t, log[0], "a+b+bad")
}

// TestNoRefreshIsLostAtOnce stops runs of entries at once after each number of results,
// and lets another run go to its end.
func TestNoRefreshIsLostAtOnce(t *testing.T) {
	at := func(t *testing.T, j *mortalJournal, cat wire.Catalog, stopAfter int) (results []wire.Result, stopped bool) {
		j.m, cat.Parallel = &mortal{}, 3
		var many atomic.Int64
		e := enginetest.New()
		e.Refreshes = j
		e.Stop = func() bool { return many.Load() >= int64(stopAfter) }
		stopped, err := e.Run(t.Context(), &cat, func(r *wire.Result) error {
			many.Add(1)
			results = append(results, *r)
			return nil
		})
		require.NoError(t, err)
		return results, stopped
	}
	const never = 1 << 30
	seeds := uint64(12)
	if testing.Short() {
		seeds /= 4
	}
	for seed := range seeds {
		for stop, stopped := 0, true; stopped; stop++ {
			what := fmt.Sprintf("seed %d, stopped after %d", seed, stop)
			f := makeFable(rand.New(rand.NewPCG(seed, 1)), t.TempDir())
			j := &mortalJournal{}
			at(t, j, f.catalog(1, false), never)
			f.ran(t)
			require.Empty(t, j.text, what)
			_, stopped = at(t, j, f.catalog(2, false), stop)
			first := f.ran(t)
			at(t, j, f.catalog(2, false), never)
			total := f.ran(t)
			for name, n := range first {
				total[name] += n
			}
			require.Equal(t, f.expected(), total, what)
			require.Empty(t, j.text, what)
			third, _ := at(t, j, f.catalog(2, false), never)
			require.NotContains(t, brief(third), "changed", what)
		}
	}
}

// TestRetriedChangesAreNotLost has a change that works the second time refresh another
// resource, and leave nothing due.
func TestRetriedChangesAreNotLost(t *testing.T) {
	for _, parallel := range []int{0, 2} {
		dir := t.TempDir()
		j := &mortalJournal{m: &mortal{}}
		entries := []wire.Entry{
			with(command("echo x >> $/tries; test `wc -l < $/tries` -ge 2", `"unless":"test -e $/ran"`), func(e *wire.Entry) { e.Retry = 1 }),
			with(command("touch $/ran", `"refreshonly":true`), func(e *wire.Entry) { e.Subscribe = []int{0} }),
		}
		results := play(t, dir, wire.Catalog{Parallel: parallel, Entries: entries}, func(e *engine.Engine) { e.Refreshes = j })
		require.Equal(t, "changed changed*", brief(results))
		require.Empty(t, j.text)
	}
}

// TestAtOnceOnOneThing has resources that do not depend on each other write to one file.
func TestAtOnceOnOneThing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lines")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	var cat wire.Catalog
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprintf("line %02d", i))
		cat.Entries = append(cat.Entries, wire.Entry{Type: "line", Name: want[i],
			Properties: fmt.Appendf(nil, `{"name":%q,"path":%q,"line":%q}`, want[i], path, want[i])})
	}
	cat.Parallel = 8
	results := play(t, dir, cat, nil)
	require.Equal(t, strings.TrimSpace(strings.Repeat("changed ", 40)), brief(results))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	require.Equal(t, want, lines)
	require.Equal(t, strings.TrimSpace(strings.Repeat("stable ", 40)), brief(play(t, dir, cat, nil)))
}
