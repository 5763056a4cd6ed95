package engine_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// block stands for the entries before it: so many of it, of its rescue and of always.
func block(main, rescue, always int, change ...func(*wire.Entry)) wire.Entry {
	e := wire.Entry{Type: "block", Name: "b", Scope: &wire.Scope{
		Entries: main + rescue + always, Block: &wire.Block{Rescue: rescue, Always: always},
	}}
	for _, c := range change {
		c(&e)
	}
	return e
}

func TestBlocks(t *testing.T) {
	content := func(path string) wire.Entry { return file("$/"+path, `"mode":"0644","content":"x"`) }
	never := content("missing/a") // which is known beforehand
	fails := func() wire.Entry { return command("false", "") }
	excluded := func(e *wire.Entry) { e.Excluded = true }
	noop := func(e *wire.Entry) { e.Check = true }
	after := func(targets ...int) func(*wire.Entry) {
		return func(e *wire.Entry) { e.Require = targets }
	}
	refreshed := func(line string, by int) wire.Entry {
		return with(command(line, `"refreshonly":true`), func(e *wire.Entry) { e.Subscribe = []int{by} })
	}
	unwell := with(content("a"), func(e *wire.Entry) {
		e.Monitor, e.Health = true, []wire.HealthCheck{{Name: "h", Argv: []string{"/bin/sh", "-c", "exit 2"}, Tries: 1, Timeout: time.Minute}}
	})
	monitored := func(e *wire.Entry) { e.Monitor = true }
	for _, c := range []struct {
		name          string
		cat           wire.Catalog
		check, really string
	}{
		{"all is well", wire.Catalog{Entries: []wire.Entry{content("a"), content("r"), content("z"), block(1, 1, 1)}},
			"changed skipped changed changed", "changed skipped changed changed"},
		{"a failure that is known beforehand", wire.Catalog{Entries: []wire.Entry{never, content("a"), content("r"), content("z"), block(2, 1, 1), content("b")}},
			"rescued skipped changed changed changed changed", "rescued skipped changed changed changed changed"},
		{"one that is not", wire.Catalog{Entries: []wire.Entry{fails(), content("a"), content("r"), content("z"), block(2, 1, 1), content("b")}},
			"changed? changed? skipped? changed? changed? changed?", "rescued skipped changed changed changed changed"},
		{"without a rescue", wire.Catalog{Entries: []wire.Entry{never, content("a"), content("z"), block(2, 0, 1), content("b")}},
			"failed skipped changed failed changed", "failed skipped changed failed changed"},
		{"the rescue fails", wire.Catalog{Entries: []wire.Entry{never, never, content("r"), content("z"), block(1, 2, 1), content("b")}},
			"rescued failed skipped changed failed changed", "rescued failed skipped changed failed changed"},
		{"what is done always fails", wire.Catalog{Entries: []wire.Entry{content("a"), content("r"), never, content("z"), block(1, 1, 2)}},
			"changed skipped failed skipped failed", "changed skipped failed skipped failed"},
		{"it fails after a rescue", wire.Catalog{Entries: []wire.Entry{never, content("r"), never, block(1, 1, 1)}},
			"rescued changed failed failed", "rescued changed failed failed"},
		{"a rescue that control excludes", wire.Catalog{Entries: []wire.Entry{never, with(content("r"), excluded), content("z"), block(1, 1, 1)}},
			"failed skipped changed failed", "failed skipped changed failed"},
		{"the play goes on after a rescue", wire.Catalog{FailOnError: true, Entries: []wire.Entry{never, content("r"), block(1, 1, 0), content("b")}},
			"rescued changed changed changed", "rescued changed changed changed"},
		{"and ends without one, after what is done always", wire.Catalog{FailOnError: true, Entries: []wire.Entry{never, content("z"), block(1, 0, 1), content("b")}},
			"failed changed failed skipped", "failed changed failed skipped"},
		{"a play that has ended before", wire.Catalog{FailOnError: true, Entries: []wire.Entry{never, content("a"), content("r"), content("z"), block(1, 1, 1)}},
			"failed skipped skipped skipped skipped", "failed skipped skipped skipped skipped"},
		{"a block in a block", wire.Catalog{Entries: []wire.Entry{never, content("a"), content("z"), block(2, 0, 1), content("b"), content("r"), block(5, 1, 0), content("c")}},
			"rescued skipped changed rescued skipped changed changed changed", "rescued skipped changed rescued skipped changed changed changed"},
		{"the inner one is rescued", wire.Catalog{Entries: []wire.Entry{never, content("r1"), block(1, 1, 0), content("b"), content("r2"), block(4, 1, 0)}},
			"rescued changed changed changed skipped changed", "rescued changed changed changed skipped changed"},
		{"a block in a rescue", wire.Catalog{Entries: []wire.Entry{content("a"), content("b"), content("r"), content("z"), block(1, 1, 1), block(1, 4, 0)}},
			"changed skipped skipped skipped skipped changed", "changed skipped skipped skipped skipped changed"},
		{"a block in a rescue that runs", wire.Catalog{Entries: []wire.Entry{never, never, content("r"), content("z"), block(1, 1, 1), block(1, 4, 0)}},
			"rescued rescued changed changed changed changed", "rescued rescued changed changed changed changed"},
		{"a nested manifest in it", wire.Catalog{Entries: []wire.Entry{never, content("a"), nested(2), content("b"), content("r"), block(4, 1, 0)}},
			"rescued changed rescued skipped changed changed", "rescued changed rescued skipped changed changed"},
		{"a nested manifest that rescues", wire.Catalog{Entries: []wire.Entry{content("a"), content("r"), nested(1), block(1, 2, 0)}},
			"changed skipped skipped changed", "changed skipped skipped changed"},
		{"who requires what has failed", wire.Catalog{Entries: []wire.Entry{never, content("r"), block(1, 1, 0), with(content("b"), after(0)), with(content("c"), after(2))}},
			"rescued changed changed skipped changed", "rescued changed changed skipped changed"},
		{"what the block requires", wire.Catalog{Entries: []wire.Entry{never, with(content("a"), after(0)), with(content("r"), after(0)), with(content("z"), after(0)), block(1, 1, 1, after(0))}},
			"failed skipped skipped skipped skipped", "failed skipped skipped skipped skipped"},
		{"a requirement outside of the block", wire.Catalog{Entries: []wire.Entry{never, with(content("a"), after(0)), content("c"), content("r"), content("z"), block(2, 1, 1), with(content("b"), after(5)), refreshed("echo", 5)}},
			"failed skipped skipped changed changed changed changed changed*?", "failed skipped skipped changed changed changed changed changed*"},
		{"a requirement outside that may not be met", wire.Catalog{Entries: []wire.Entry{fails(), with(content("a"), after(0)), content("r"), content("z"), block(1, 1, 1), with(content("b"), after(4))}},
			"changed? changed? skipped? changed? changed? changed?", "failed skipped changed changed changed changed"},
		{"a requirement outside, without a rescue", wire.Catalog{Entries: []wire.Entry{never, with(content("a"), after(0)), content("z"), block(1, 0, 1), with(content("b"), after(3)), refreshed("echo", 3)}},
			"failed skipped changed failed skipped stable", "failed skipped changed failed skipped stable"},
		{"of the rescue", wire.Catalog{Entries: []wire.Entry{never, never, with(content("r"), after(0)), content("z"), block(1, 1, 1), with(content("b"), after(4))}},
			"failed rescued skipped changed failed skipped", "failed rescued skipped changed failed skipped"},
		{"of what is done always", wire.Catalog{Entries: []wire.Entry{never, content("a"), content("r"), with(content("z"), after(0)), block(1, 1, 1), with(content("b"), after(4))}},
			"failed changed skipped skipped failed skipped", "failed changed skipped skipped failed skipped"},
		{"of a nested manifest in it", wire.Catalog{Entries: []wire.Entry{never, with(content("a"), after(0)), nested(1), content("r"), block(2, 1, 0), with(content("b"), after(4))}},
			"failed skipped rescued changed changed changed", "failed skipped rescued changed changed changed"},
		{"of a block in a nested manifest", wire.Catalog{Entries: []wire.Entry{never, with(content("a"), after(0)), block(1, 0, 0), nested(2), with(content("b"), after(3))}},
			"failed skipped failed failed skipped", "failed skipped failed failed skipped"},
		{"of a block in a block", wire.Catalog{Entries: []wire.Entry{never, with(content("a"), after(0)), content("z"), block(1, 0, 1), content("r"), block(3, 1, 0)}},
			"failed skipped changed rescued changed changed", "failed skipped changed rescued changed changed"},
		{"a failed refresh", wire.Catalog{Entries: []wire.Entry{content("a"), refreshed("false", 0), content("r"), block(2, 1, 0), refreshed("echo", 3)}},
			"changed changed*? skipped? changed? changed*?", "changed rescued* changed changed changed*"},
		{"a health check of a nested manifest", wire.Catalog{Entries: []wire.Entry{unwell, nested(1), content("r"), block(2, 1, 0)}},
			"rescued rescued changed changed", "rescued rescued changed changed"},
		{"a health check of a block in one", wire.Catalog{Entries: []wire.Entry{unwell, with(content("r"), monitored), block(1, 1, 0, monitored), nested(3)}},
			"rescued stable stable stable", "rescued stable stable stable"},
		{"a run of health checks alone", wire.Catalog{Monitor: true, Entries: []wire.Entry{unwell, content("r"), block(1, 1, 0)}},
			"failed skipped stable", "failed skipped stable"},
		{"noop", wire.Catalog{Entries: []wire.Entry{with(never, noop), with(content("r"), noop), block(1, 1, 0, noop)}},
			"rescued changed changed", "rescued changed changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, parallel := range []int{0, 1} {
				dir := t.TempDir()
				run := func(check bool) string {
					cat := clone(c.cat)
					cat.Check, cat.Parallel = check, parallel
					results, _ := runEntries(t, dir, cat)
					return brief(results)
				}
				if parallel == 0 {
					require.Equal(t, c.check, run(true), "predicted")
				}
				require.Equal(t, c.really, run(false))
			}
		})
	}
}

// TestBlocksInRandomPlays: a rescue runs if and only if its block has failed, the always part always runs, and every
// certain prediction comes true, in lists and in graphs.
func TestBlocksInRandomPlays(t *testing.T) {
	seeds, blocks, rescues, certain := uint64(600), 0, 0, 0
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 13))
		r := &realm{dir: t.TempDir()}
		cat, at := randomRealm(random, r.dir, false)
		if seed%2 == 0 {
			cat.Parallel = 0
		}
		again := func(cat wire.Catalog) []wire.Result {
			require.NoError(t, os.RemoveAll(r.dir))
			require.NoError(t, os.Mkdir(r.dir, 0o755))
			r.at = maps.Clone(at)
			r.begin()
			return castAll(t, r, cat)
		}
		check := cat
		check.Check = true
		predicted, real := again(check), again(cat)
		for i, e := range cat.Entries {
			if predicted[i].Grade == modules.Certain && real[i].Grade == modules.Certain {
				certain++
				require.Equal(t, predicted[i].Status, real[i].Status, "seed %d: %d %s, %v", seed, i, e.Ref(), real[i])
			}
			if e.Scope == nil || e.Scope.Block == nil || e.Excluded || e.Hidden {
				continue
			}
			blocks++
			if ran := inspect(t, seed, cat.Entries, real, i); ran {
				rescues++
			}
		}
	}
	t.Logf("%d blocks, %d rescues, %d certain predictions", blocks, rescues, certain)
	require.Greater(t, rescues, 0)
}

// inspect holds the results of a block, entry number i, against each other, and reports whether
// its rescue has run.
func inspect(t *testing.T, seed uint64, entries []wire.Entry, results []wire.Result, i int) bool {
	end := i - entries[i].Scope.Block.Always
	middle := end - entries[i].Scope.Block.Rescue
	direct := func(from, to int) (all []int) {
		for k := to - 1; k >= from; k-- {
			all = append(all, k)
			if s := entries[k].Scope; s != nil {
				k -= s.Entries
			}
		}
		return all
	}
	is := func(list []int, statuses ...wire.Status) bool {
		return slices.ContainsFunc(list, func(k int) bool { return slices.Contains(statuses, results[k].Status) })
	}
	// An entry that runs has none of these reasons to be skipped.
	left := func(list []int) bool {
		return slices.ContainsFunc(list, func(k int) bool { return results[k].Message == "only if its block fails" })
	}
	main, rescue, always := direct(i-entries[i].Scope.Entries, middle), direct(middle, end), direct(end, i)
	// A skipped entry has not failed if the failure of another entry has ended its part or the play.
	wrong := func(list []int) bool {
		return slices.ContainsFunc(list, func(k int) bool {
			ended := results[k].Reason == wire.SkippedPlayEnded || results[k].Reason == wire.SkippedBlockEnded
			return results[k].WentWrong() && !ended
		})
	}
	failed := wrong(main)
	if failed {
		require.False(t, left(rescue), "seed %d: block %d", seed, i)
	} else {
		require.False(t, is(rescue, wire.Changed, wire.Failed, wire.Rescued), "seed %d: block %d", seed, i)
	}
	begun := is(main, wire.Stable, "", wire.Changed, wire.Failed, wire.Rescued)
	for _, k := range always {
		if begun && !wrong(always) && results[k].Status == wire.Skipped {
			require.NotContains(t, results[k].Message, "because", "seed %d: block %d leaves out %d", seed, i, k)
		}
	}
	rescues := slices.ContainsFunc(rescue, func(k int) bool { return !entries[k].Excluded && !entries[k].Hidden })
	fails := wrong(rescue) || wrong(always) || failed && !rescues
	if st := results[i].Status; st != wire.Skipped {
		require.Equal(t, fails, st == wire.Failed || st == wire.Rescued, "seed %d: block %d", seed, i)
	}
	return failed && rescues
}

// TestBlockInAPlayThatEnds ends the play while a block is in progress: nothing in the block failed, so its rescue does
// not run. The always part runs.
func TestBlockInAPlayThatEnds(t *testing.T) {
	dir := t.TempDir()
	after := func(e wire.Entry, others ...int) wire.Entry { e.After = others; return e }
	results := play(t, dir, wire.Catalog{Parallel: 2, FailOnError: true, Entries: []wire.Entry{
		command("until test -e "+dir+"/begun; do sleep 0.01; done; exit 1", ""),
		command("touch "+dir+"/begun; sleep 0.7", ""),
		with(command("true 2", ""), func(e *wire.Entry) { e.Require = []int{1} }),
		after(command("true rescue", ""), 1, 2), after(command("true always", ""), 1, 2, 3), after(block(2, 1, 1), 1, 2, 3, 4),
	}}, nil)
	slices.SortFunc(results, func(a, b wire.Result) int { return a.Index - b.Index })
	require.Equal(t, "failed changed skipped skipped changed skipped", brief(results))
}
