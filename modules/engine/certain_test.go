package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestDoubtFollowsEdges has the same resources checked as a list and as a graph.
func TestDoubtFollowsEdges(t *testing.T) {
	anything := func() wire.Entry { return command("true", "") }
	content := func(path string) wire.Entry { return file("$/"+path, `"mode":"0644","content":"x"`) }
	dir := func(path string) wire.Entry { return file("$/"+path, `"ensure":"directory","mode":"0755"`) }
	requires := func(e wire.Entry, targets ...int) wire.Entry { e.Require = targets; return e }
	after := func(e wire.Entry, targets ...int) wire.Entry { e.After = targets; return e }
	noop := func(e wire.Entry) wire.Entry { e.Check = true; return e }
	idle := func(more string) wire.Entry { return command("false # "+more, `"onlyif":"false"`) }
	many := slices.Concat([]wire.Entry{anything(), idle("")}, slices.Repeat([]wire.Entry{{Type: "file", Excluded: true}}, 8191))
	skipped := strings.Repeat(" skipped", 8191)
	for _, tt := range []struct {
		name        string
		entries     []wire.Entry
		list, graph string
	}{
		{"no edge leads there", []wire.Entry{anything(), content("a"), idle("")}, "changed? changed? stable?", "changed? changed stable"},
		{"require", []wire.Entry{anything(), requires(content("a"), 0)}, "changed? changed?", "changed? changed?"},
		{"only an order", []wire.Entry{anything(), after(content("a"), 0)}, "changed? changed?", "changed? changed?"},
		{"subscribe", []wire.Entry{content("a"), with(idle(""), func(e *wire.Entry) { e.Subscribe = []int{0} }), after(content("b"), 1), content("c")},
			"changed changed*? changed? changed?", "changed changed*? changed? changed"},
		{"by way of what is as it shall be", []wire.Entry{anything(), after(idle(""), 0), content("b"), requires(content("c"), 1)},
			"changed? stable? changed? changed?", "changed? stable? changed changed?"},
		{"only what a guard may read", []wire.Entry{content("a"), requires(idle("1"), 0), idle("2")}, "changed stable? stable?", "changed stable? stable"},
		{"what is missing may come with anything", []wire.Entry{command("mkdir -p $/d", ""), content("d/a")}, "changed? changed?", "changed? changed?"},
		{"what is missing, and what follows from it", []wire.Entry{command("mkdir -p $/d", ""), content("d/a"), after(idle(""), 1), idle("2")},
			"changed? changed? stable? stable?", "changed? changed? stable? stable"},
		{"an order that nobody has written", []wire.Entry{dir("d"), content("d/a")}, "changed changed", "changed changed?"},
		{"an order that is written", []wire.Entry{dir("d"), requires(content("d/a"), 0)}, "changed changed", "changed changed"},
		{"what a command is said to create", []wire.Entry{command("touch $/made", `"creates":"$/made"`), file("$/made", `"mode":"0600"`)}, "changed? changed?", "changed? changed?"},
		{"through a link that may not be there yet", []wire.Entry{
			dir("d"), requires(content("d/a"), 0),
			{Type: "link", Name: "$/l", Properties: json.RawMessage(`{"name":"$/l","target":"$/d"}`), Require: []int{0}},
			requires(content("l/a"), 1), requires(content("l/a"), 1, 2),
		}, "changed changed changed stable stable", "changed changed changed stable? stable?"},
		{"noop", []wire.Entry{noop(anything()), content("a"), noop(content("b")), noop(requires(content("c"), 0)), requires(content("d"), 0)},
			"changed? changed changed? changed? changed?", "changed? changed changed changed? changed?"},
		{"a nested manifest", []wire.Entry{anything(), content("a"), nested(2), content("b"), after(content("c"), 2)},
			"changed? changed? changed? changed? changed?", "changed? changed changed? changed changed?"},
		{"as many as can be told apart", many[:8192], "changed? stable?" + skipped[:len(skipped)-8], "changed? stable" + skipped[:len(skipped)-8]},
		{"too many to tell apart", many, "changed? stable?" + skipped, "changed? stable?" + skipped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, []string{tt.list}, catalogs(t, t.TempDir(), wire.Catalog{Check: true, Entries: slices.Clone(tt.entries)}), "list")
			for _, parallel := range []int{1, 4} {
				require.Equal(t, []string{tt.graph}, catalogs(t, t.TempDir(), wire.Catalog{Check: true, Parallel: parallel, Entries: slices.Clone(tt.entries)}), "graph")
			}
		})
	}
}

// TestDoubtOfWhatIsCrossed: with several resources in progress at once, a later one may have changed a thing that was
// read.
func TestDoubtOfWhatIsCrossed(t *testing.T) {
	content := func(path string) wire.Entry { return file("$/"+path, `"mode":"0644","content":"x"`) }
	dir := func(path string) wire.Entry { return file("$/"+path, `"ensure":"directory","mode":"0755"`) }
	gone := func(path string) wire.Entry {
		return wire.Entry{Type: "file", Name: "$/" + path, Properties: json.RawMessage(`{"name":"$/` + path + `","ensure":"absent"}`)}
	}
	link := func(path, target string) wire.Entry {
		return wire.Entry{Type: "link", Name: "$/" + path, Properties: json.RawMessage(`{"name":"$/` + path + `","target":"$/` + target + `"}`)}
	}
	requires := func(e wire.Entry, targets ...int) wire.Entry { e.Require = targets; return e }
	noop := func(e wire.Entry) wire.Entry { e.Check = true; return e }
	guarded := command("true", `"creates":"$/a"`)
	for _, tt := range []struct {
		name     string
		entries  []wire.Entry
		one, two string // with so many at once
		because  string // with two
	}{
		{"the directory comes later", []wire.Entry{content("d/a"), dir("d")}, "failed changed", "failed? changed", "file#$/d"},
		{"the directory comes after it", []wire.Entry{content("d/a"), requires(dir("d"), 0)}, "failed skipped", "failed skipped", ""},
		{"a directory that only gets another mode", []wire.Entry{content("old/in/b"), file("$/old", `"ensure":"directory","mode":"0700"`)}, "changed changed", "changed changed", ""},
		{"what is behind it", []wire.Entry{gone("there"), requires(content("b"), 0), content("there"), content("c")},
			"changed changed changed? changed", "changed? changed? changed? changed", "file#$/there, file#$/there, file#$/there"},
		{"by way of one that is left out", []wire.Entry{gone("there"), requires(with(content("b"), func(e *wire.Entry) { e.Hidden = true }), 0), requires(content("c"), 1), content("there")},
			"changed skipped changed changed?", "changed? skipped changed? changed?", "file#$/there, file#$/there, file#$/there"},
		{"a guard", []wire.Entry{with(guarded, func(e *wire.Entry) {
			e.Properties = json.RawMessage(strings.ReplaceAll(string(e.Properties), "$/a", "$/there"))
		}), gone("there")},
			"stable changed", "stable? changed", "file#$/there"},
		{"what is missing may come with anything", []wire.Entry{content("d/a"), command("mkdir $/d", "")}, "failed changed?", "failed? changed?", "exec#mkdir $/d, exec#mkdir $/d"},
		{"through a link to be", []wire.Entry{gone("old/f"), gone("l/f"), link("l", "old")}, "stable stable changed", "stable stable? changed", "link#$/l"},
		{"a noop resource", []wire.Entry{content("d/a"), noop(content("d/b")), noop(dir("d"))}, "failed failed changed", "failed failed? changed", "file#$/d"},
		{"two make the same", []wire.Entry{content("a"), with(content("a"), func(e *wire.Entry) { e.Alias = "too" })}, "changed stable?", "changed? stable?", "file#too, file#$/a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n, want := range []string{tt.one, tt.two} {
				root := t.TempDir()
				require.NoError(t, os.MkdirAll(root+"/old/in", 0o755))
				require.NoError(t, os.WriteFile(root+"/there", nil, 0o644))
				results, _ := runEntries(t, root, clone(wire.Catalog{Check: true, Parallel: n + 1, Entries: tt.entries}))
				require.Equal(t, want, brief(results), "%d at once", n+1)
				var because []string
				for _, r := range results {
					if r.Grade != modules.Certain {
						because = append(because, strings.ReplaceAll(r.Because, root, "$"))
					}
				}
				if n == 1 {
					require.Equal(t, tt.because, strings.Join(because, ", "))
				}
			}
		})
	}
}

// TestCrossingAndWhatHasLeft checks a graph with resources that have left it.
func TestCrossingAndWhatHasLeft(t *testing.T) {
	r := newRememberer(t)
	r.write("a", "was a")
	r.run(whole(reversed(text("$/a", "mine"))...))
	cat := whole(file("$/b", `"mode":"0644","content":"x"`))
	cat.Check, cat.Parallel = true, 4
	require.Len(t, r.run(cat), 2)
}

// TestDoubtAcrossPlays: what an earlier play may do comes before all of a later one,
// whatever the two are.
func TestDoubtAcrossPlays(t *testing.T) {
	for _, first := range []int{0, 4} {
		for _, second := range []int{0, 4} {
			require.Equal(t, []string{"changed? stable", "changed? stable?"}, catalogs(t, t.TempDir(),
				wire.Catalog{Check: true, Parallel: max(first, 1), Entries: []wire.Entry{command("true", ""), command("false", `"onlyif":"false"`)}},
				wire.Catalog{Check: true, Parallel: second, Entries: []wire.Entry{file("$/a", `"mode":"0644"`), command("false", `"onlyif":"false"`)}},
			))
		}
	}
	require.Equal(t, []string{"changed? changed?"}, catalogs(t, t.TempDir(), wire.Catalog{Check: true, Parallel: 4, Earlier: "an earlier play",
		Entries: []wire.Entry{file("$/a", `"mode":"0644"`), file("$/b", `"mode":"0644"`)}}))
}

// TestDoubtOfAnEnd: a failure ends a manifest of parallel resources while it is unknown which of them have had their
// turn.
func TestDoubtOfAnEnd(t *testing.T) {
	content := func(path string, requires ...int) wire.Entry {
		e := file("$/"+path, `"mode":"0644","content":"x"`)
		e.Require = requires
		return e
	}
	fails := content("missing/a")
	ends := func(e *wire.Entry) { e.Scope.FailOnError = true }
	hidden := func(e *wire.Entry) { e.Hidden = true }
	for _, tt := range []struct {
		name    string
		cat     wire.Catalog
		briefs  []string // with so many at once: 1, 2
		because string   // reasons of the uncertain ones, with 2
	}{
		{"all is well", wire.Catalog{FailOnError: true, Entries: []wire.Entry{content("a"), content("b")}}, []string{"changed changed", "changed changed"}, ""},
		{"one fails", wire.Catalog{FailOnError: true, Entries: []wire.Entry{content("a"), fails, content("b")}},
			[]string{"changed failed skipped", "changed? failed? skipped?"}, "file#$/missing/a, file#$/b, file#$/missing/a"},
		{"what comes before it has had its turn", wire.Catalog{FailOnError: true, Entries: []wire.Entry{content("a"), content("missing/a", 0), content("b", 1)}},
			[]string{"changed failed skipped", "changed failed skipped"}, ""},
		{"one that may fail", wire.Catalog{FailOnError: true, Entries: []wire.Entry{content("a"), content("b", 0), command("true", "")}},
			[]string{"changed changed changed?", "changed? changed? changed?"}, "exec#true, file#$/a, exec#true"},
		{"in a manifest of its own", wire.Catalog{Entries: []wire.Entry{content("a"), content("b"), fails, nested(2, ends), content("c", 1), content("d")}},
			[]string{"changed changed failed failed changed changed", "changed changed? failed failed? changed? changed"}, "file#$/missing/a, file#$/b, file#$/b"},
		{"around others", wire.Catalog{FailOnError: true, Entries: []wire.Entry{content("a"), nested(1), fails}},
			[]string{"changed changed failed", "changed? changed? failed"}, "file#$/missing/a, file#$/a"},
		{"what is left out anyhow", wire.Catalog{FailOnError: true, Entries: []wire.Entry{with(content("a"), hidden), {Type: "file", Name: "b", Excluded: true}, fails}},
			[]string{"skipped skipped failed", "skipped skipped failed"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n, want := range tt.briefs {
				tt.cat.Check, tt.cat.Parallel = true, n+1
				results, _ := runEntries(t, t.TempDir(), clone(tt.cat))
				require.Equal(t, want, brief(results), "%d at once", n+1)
				var because []string
				for _, r := range results {
					if r.Grade != modules.Certain {
						because = append(because, r.Because)
					}
				}
				if n == 1 {
					require.Equal(t, tt.because, strings.Join(because, ", "))
				}
			}
		})
	}
}

// A realm holds the registers that spells change. No effect declares them.
type realm struct {
	mu  sync.Mutex
	dir string
	at  map[string]string
}

// touch sets a register, or makes a path a file, a directory or nothing, as far as the existing object allows that.
func (r *realm) touch(key, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !filepath.IsAbs(key):
		r.at[key] = value
	case value == "":
		_ = os.RemoveAll(key)
	case value == "/":
		_ = os.Mkdir(key, 0o755)
	default:
		_ = os.WriteFile(key, []byte(value), 0o644)
	}
}

// begin creates the initial paths.
func (r *realm) begin() {
	for _, key := range slices.Sorted(maps.Keys(r.at)) { // directories before their contents
		if filepath.IsAbs(key) {
			_ = os.MkdirAll(filepath.Dir(key), 0o755)
		}
		r.touch(key, r.at[key])
	}
}

// readsRealm has commands that print a register.
type readsRealm struct {
	modules.Commands
	*realm
}

func (c readsRealm) Probe(_ context.Context, cmd modules.Command) (modules.Exit, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return modules.Exit{Stdout: modules.Output{Text: c.at[cmd.Argv[0]]}}, nil
}

// A spell wants a register to be 1. It has undeclared further effects, and may fail; a coin has no other effect, and
// declares that.
type spell struct {
	Key     string            `json:"key"`
	Touches map[string]string `json:"touches"`
	Fails   bool              `json:"fails"`
	Coin    bool              `json:"coin"`

	*realm
}

const coins modules.EffectKind = "coin"

func (s *spell) Validate() error { return nil }

func (s *spell) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	c := modules.Command{Argv: []string{s.Key}}
	if s.Coin {
		c.Reads = coins
		if _, ok := h.Forecast.Lookup(coins, s.Key); ok {
			return modules.Plan{}, nil
		}
	}
	exit, err := h.Commands.Probe(ctx, c)
	if err != nil || exit.Stdout.Text == "1" {
		return modules.Plan{}, err
	}
	return s.plan("cast it"), nil
}

func (s *spell) plan(action string) modules.Plan {
	if s.Coin {
		return modules.Plan{Action: action, Effects: []modules.Effect{{Kind: coins, Key: s.Key, State: "1"}}}
	}
	return modules.Plan{Action: action, Effects: []modules.Effect{modules.Anything}}
}

func (s *spell) Refresh(context.Context, modules.Host, modules.Plan) (modules.Plan, error) {
	plan := s.plan("cast it again")
	plan.Refreshed = true
	return plan, nil
}

func (s *spell) Apply(context.Context, modules.Host, modules.Plan) error {
	s.touch(s.Key, "1")
	for key, value := range s.Touches {
		s.touch(key, value)
	}
	if s.Fails {
		return errors.New("it failed")
	}
	return nil
}

// randomRealm returns a graph of files and spells. The undeclared effects of a spell concern only entries that come
// after it along edges. In a loose graph, files depend on each other without edges; spells then use registers only, and
// there are no nested manifests.
func randomRealm(random *rand.Rand, dir string, loose bool) (cat wire.Catalog, at map[string]string) {
	one := func(n int) bool { return random.IntN(n) == 0 }
	cat.Parallel, cat.FailOnError, at = 1+random.IntN(5), one(5), map[string]string{}
	things, dirs, tops := map[int]string{}, []int{}, []int{} // tops: where each begins that is in nothing else
	spells := map[int]*spell{}
	for i := range 3 + random.IntN(15) {
		var e wire.Entry
		thing := fmt.Sprintf("r%d", i)
		switch kind := random.IntN(8); {
		case !loose && len(tops) > 0 && one(6):
			members := tops[random.IntN(len(tops)):]
			e = nested(i-members[0], func(e *wire.Entry) { e.Scope.FailOnError = one(2) })
			if one(2) {
				parted(random, cat.Entries, members, &e)
			}
			tops, thing = tops[:len(tops)-len(members)], ""
		case kind < 4:
			parent := dir
			if len(dirs) > 0 && one(2) {
				d := dirs[random.IntN(len(dirs))]
				if parent = things[d]; !loose || one(2) {
					e.Require = append(e.Require, d)
				}
			}
			if thing = fmt.Sprintf("%s/%d", parent, i); loose && i > 0 && one(4) && filepath.IsAbs(things[i-1]) {
				thing = things[i-1]
			}
			require, rest := e.Require, `"mode":"0644","content":"1"`
			switch {
			case kind == 0:
				rest, dirs = `"ensure":"directory","mode":"0755"`, append(dirs, i)
			case kind == 1:
				rest = `"ensure":"absent"`
			}
			e = file(thing, rest)
			if kind == 1 {
				e.Properties = fmt.Appendf(nil, `{"name":%q,"ensure":"absent"}`, thing)
			}
			e.Require = require
			if parent == dir || one(2) {
				at[thing] = []string{"", "1", "2", "/"}[random.IntN(4)]
			}
		default:
			e = wire.Entry{Type: "spell", Name: thing}
			spells[i] = &spell{Key: thing, Coin: kind == 4, Fails: kind > 4 && one(5)}
			at[thing] = []string{"0", "1", "1"}[random.IntN(3)]
		}
		for range random.IntN(4) {
			if i > 0 {
				list := []*[]int{&e.Require, &e.After, &e.Subscribe}[random.IntN(3)]
				if j := random.IntN(i); list != &e.Subscribe || e.Type == "spell" {
					*list = append(*list, j)
				}
			}
		}
		e.Check, e.Hidden, e.Excluded = one(10), one(20), one(20)
		begin := i
		if e.Scope != nil {
			begin = i - e.Scope.Entries
		}
		tops = append(tops, begin)
		things[i] = thing
		cat.Entries = append(cat.Entries, e)
	}
	after := map[int]map[int]bool{}
	for i := range cat.Entries {
		after[i] = map[int]bool{}
		for j := range wire.Dependencies(cat.Entries, i) {
			after[i][j] = true
			maps.Copy(after[i], after[j])
		}
	}
	for i, s := range spells {
		for j := range cat.Entries {
			if after[j][i] && things[j] != "" && !s.Coin && one(3) && !(loose && filepath.IsAbs(things[j])) {
				if s.Touches == nil {
					s.Touches = map[string]string{}
				}
				s.Touches[things[j]] = []string{"", "0", "1", "/"}[random.IntN(4)]
			}
		}
		cat.Entries[i].Properties, _ = json.Marshal(s)
	}
	return cat, at
}

// parted makes a block of a scope, whose members begin with those numbers.
func parted(random *rand.Rand, entries []wire.Entry, members []int, e *wire.Entry) {
	end := members[0] + e.Scope.Entries
	starts := append(slices.Clone(members), end)
	first := 1 + random.IntN(len(members)) // of the rescue; there may be none
	last := first + random.IntN(len(starts)-first)
	rescue, always := starts[first], starts[last]
	e.Type, e.Name = "block", "b"
	e.Scope = &wire.Scope{Entries: e.Scope.Entries, Block: &wire.Block{Rescue: always - rescue, Always: end - always}}
	for i := rescue; i < end; i++ { // as a compiled catalog has it
		for j := members[0]; j < rescue || i >= always && j < always; j++ {
			entries[i].After = append(slices.Clip(entries[i].After), j)
		}
	}
}

// TestWhatIsCertainComesTrue: if edges declare all dependencies, every certain prediction of a graph comes true,
// although spells have undeclared effects, fail, and run in parallel. A certain prediction of a list is certain in the
// graph, too, except where a list is certain because of its order.
func TestWhatIsCertainComesTrue(t *testing.T) {
	seeds := uint64(600)
	if testing.Short() {
		seeds /= 10
	}
	inList, inGraph, all := 0, 0, 0
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 7))
		r := &realm{dir: t.TempDir()}
		var cat wire.Catalog
		cat, r.at = randomRealm(random, r.dir, false)
		r.begin()
		list, graph := cat, cat
		list.Check, list.Parallel, graph.Check = true, 0, true
		asList, predicted, real := castAll(t, r, list), castAll(t, r, graph), castAll(t, r, cat)
		for i := range cat.Entries {
			if !bolder(cat) {
				all++
				if asList[i].Grade == modules.Certain {
					inList++
				}
				if predicted[i].Grade == modules.Certain {
					inGraph++
				}
			}
			if predicted[i].Grade != modules.Certain {
				require.True(t, asList[i].Grade != modules.Certain || bolder(cat) || cat.Parallel > 1, "seed %d: %s is in doubt because of %s in a graph only", seed, cat.Entries[i].Ref(), predicted[i].Because)
				continue
			}
			if real[i].Grade != modules.Certain { // a noop resource, which is only predicted there as well
				continue
			}
			require.Equal(t, predicted[i].Status, real[i].Status, "seed %d: %s of %d, %v", seed, cat.Entries[i].Ref(), cat.Parallel, real[i])
			require.Equal(t, predicted[i].Refreshed, real[i].Refreshed, "seed %d: %s", seed, cat.Entries[i].Ref())
		}
	}
	t.Logf("of %d predictions, %d are certain in a list and %d in a graph", all, inList, inGraph)
	require.Greater(t, inGraph, inList)
}

// TestWhatIsCertainComesTrueInAnyOrder: even if edges do not declare all dependencies, a certain prediction of a graph
// comes true in every order that the edges allow.
func TestWhatIsCertainComesTrueInAnyOrder(t *testing.T) {
	seeds, certain, all := uint64(150), 0, 0
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 11))
		r := &realm{dir: t.TempDir()}
		cat, at := randomRealm(random, r.dir, true)
		cat.Parallel = 2
		again := func(cat wire.Catalog) []wire.Result {
			require.NoError(t, os.RemoveAll(r.dir))
			require.NoError(t, os.Mkdir(r.dir, 0o755))
			r.at = maps.Clone(at)
			r.begin()
			return castAll(t, r, cat)
		}
		check := cat
		check.Check = true
		predicted := again(check)
		for range 4 {
			order, real := otherOrder(random, cat)
			results := again(real)
			for to, from := range order {
				all++
				if predicted[from].Grade != modules.Certain || results[to].Grade != modules.Certain {
					continue
				}
				certain++
				require.Equal(t, predicted[from].Status, results[to].Status, "seed %d: %s, in the order %v: %v", seed, cat.Entries[from].Ref(), order, results[to])
				require.Equal(t, predicted[from].Refreshed, results[to].Refreshed, "seed %d: %s, in the order %v", seed, cat.Entries[from].Ref(), order)
			}
		}
	}
	t.Logf("of %d predictions, %d are certain", all, certain)
	require.Greater(t, certain, all/10)
}

// otherOrder returns a catalog in another order that its edges allow, as a list, and the former index of each entry.
func otherOrder(random *rand.Rand, cat wire.Catalog) (order []int, _ wire.Catalog) {
	at := map[int]int{}
	for len(order) < len(cat.Entries) {
		i := random.IntN(len(cat.Entries))
		waits := func(j int) bool { _, done := at[j]; return !done }
		e := &cat.Entries[i]
		if waits(i) && !slices.ContainsFunc(slices.Concat(e.Require, e.After, e.Subscribe), waits) {
			at[i] = len(order)
			order = append(order, i)
		}
	}
	moved := func(list []int) (to []int) {
		for _, j := range list {
			to = append(to, at[j])
		}
		return to
	}
	other := cat
	other.Parallel, other.Entries = 0, nil
	for _, i := range order {
		e := cat.Entries[i]
		e.Require, e.After, e.Subscribe = moved(e.Require), moved(e.After), moved(e.Subscribe)
		other.Entries = append(other.Entries, e)
	}
	return order, other
}

// bolder reports whether a list may be surer of a catalog than is right for a graph: where
// a failure ends something, and of nested manifests with noop resources.
func bolder(cat wire.Catalog) bool {
	nests := func(e wire.Entry) bool { return e.Scope != nil }
	return cat.FailOnError || slices.ContainsFunc(cat.Entries, func(e wire.Entry) bool { return nests(e) && (e.Scope.FailOnError || e.Scope.Block != nil) }) ||
		slices.ContainsFunc(cat.Entries, nests) && slices.ContainsFunc(cat.Entries, func(e wire.Entry) bool { return e.Check })
}

// castAll returns the results of a catalog by entry.
func castAll(t *testing.T, r *realm, cat wire.Catalog) []wire.Result {
	t.Helper()
	e := enginetest.New()
	e.Host.Commands = readsRealm{e.Host.Commands, r}
	decode := e.Decode
	e.Decode = func(e *wire.Entry) (modules.Resource, error) {
		if e.Type != "spell" {
			return decode(e)
		}
		s := &spell{realm: r}
		return s, json.Unmarshal(e.Properties, s)
	}
	told, _ := enginetest.Run(t, e, "", clone(cat))
	results := make([]wire.Result, len(cat.Entries))
	for _, result := range told {
		results[result.Index] = result
	}
	return results
}
