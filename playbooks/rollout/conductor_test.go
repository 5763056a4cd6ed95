package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// play runs a history on a conductor, one word per event, and fails if an answer differs from the history: begin=web1
// means that web1 begins, begin= that no host may.
func play(t *testing.T, c *Conductor, history string) {
	t.Helper()
	outcomes := map[string]Outcome{
		"ok": {Touched: true}, "restarted": {Touched: true, Restarted: true},
		"failed": {Failed: true, Touched: true}, "untouched": {Failed: true},
		"unreachable": {Unreachable: true}, "lost": {Unreachable: true, Touched: true},
	}
	for _, word := range strings.Fields(history) {
		name, what, _ := strings.Cut(word, "=")
		switch name {
		case "next":
			require.True(t, c.Next(), history)
		case "begin":
			require.Equal(t, what, c.Begin(), history)
		case "over":
			require.True(t, c.Over(), history)
			require.False(t, c.Next(), history)
		case "go":
			require.NotNil(t, c.Stopped(), history)
			c.Go()
		case "hold":
			c.Hold(what)
		case "leave":
			c.Leave(what, false)
		case "healthy":
			c.Healthy(what)
		case "release":
			require.NoError(t, c.Release(what), history)
		case "gate":
			c.Gate("web", Verdict(what), false, "1 bad of 1")
		case "gatestops":
			c.Gate("web", Verdict(what), true, "1 bad of 1")
		case "stuck":
			require.True(t, c.Stuck(), history)
			c.NoPlaces()
		case "late":
			c.NoProgress(30 * time.Minute)
		default:
			require.Contains(t, outcomes, what, word)
			c.End(name, outcomes[what])
		}
	}
}

func TestConductor(t *testing.T) {
	one, two := limit(count(1)), limit(count(2))
	for _, c := range []struct {
		name    string
		rules   Rules
		hosts   string
		history string
		stop    string // empty means that it continues
	}{
		// Problems of Ansible users.
		{"Ansible: batches of 2, one host unreachable", Rules{Batches: sizes(count(2))}, "a1 a2 a3 a4",
			"next begin=a1 begin=a2 a1=unreachable begin= a2=ok begin=",
			"batch 1, a1: stop.failed: 1 of 4 hosts have failed or cannot be reached (a1); limit: 1"},
		{"Ansible: one failure in each of four batches", Rules{Batches: sizes(count(2)), Stop: Limits{Failed: limit(percent(25))}}, "a1 a2 a3 a4 a5 a6 a7 a8",
			"next begin=a1 begin=a2 a1=failed a2=ok next begin=a3 begin=a4 a3=failed a4=ok begin=",
			"batch 2, a1 a3: stop.failed: 2 of 8 hosts have failed or cannot be reached (a1, a3); limit: 2 (25% of 8, rounded down, at least 1)"},

		{"it stops at the third", Rules{Stop: Limits{Failed: limit(count(3))}}, "a1 a2 a3 a4",
			"next begin=a1 a1=failed begin=a2 a2=untouched begin=a3 a3=lost begin=",
			"batch 1, a1 a2 a3: stop.failed: 3 of 4 hosts have failed or cannot be reached (a1, a2, a3); limit: 3"},
		{"at the second it goes on", Rules{Stop: Limits{Failed: limit(count(3))}}, "a1 a2 a3", "next begin=a1 a1=failed begin=a2 a2=failed begin=a3", ""},
		{"unreachable ones have a limit of their own", Rules{Stop: Limits{Failed: two, Unreachable: limit(percent(50))}}, "a1 a2 a3 a4",
			"next begin=a1 a1=failed begin=a2 a2=lost begin=a3 a3=lost begin=",
			"batch 1, a2 a3: stop.unreachable: 2 of 4 hosts cannot be reached (a2, a3); limit: 2 (50% of 4, rounded down, at least 1)"},
		{"failed ones, then", Rules{Stop: Limits{Failed: two, Unreachable: two}}, "a1 a2 a3 a4",
			"next begin=a1 a1=failed begin=a2 a2=lost begin=a3 a3=failed begin=",
			"batch 1, a1 a3: stop.failed: 2 of 4 hosts have failed (a1, a3); limit: 2"},
		{"per batch", Rules{Batches: sizes(count(2)), Stop: Limits{Failed: limit(count(9))}, PerBatch: Limits{Failed: two}}, "a1 a2 a3 a4",
			"next begin=a1 begin=a2 a1=failed a2=ok next begin=a3 begin=a4 a3=failed a4=lost",
			"batch 2, a3 a4: stop.per_batch.failed: 2 of 2 hosts of the batch have failed or cannot be reached (a3, a4); limit: 2"},
		{"per batch, a share of it", Rules{Batches: sizes(count(4)), Stop: Limits{Failed: limit(count(9))}, PerBatch: Limits{Failed: limit(percent(50))}}, "a1 a2 a3 a4 a5",
			"next begin=a1 a1=failed begin=a2 a2=failed",
			"batch 1, a1 a2: stop.per_batch.failed: 2 of 4 hosts of the batch have failed or cannot be reached (a1, a2); limit: 2 (50% of 4, rounded down, at least 1)"},
		{"restarts that came", Rules{Stop: Limits{Restarts: limit(percent(50))}}, "a1 a2 a3 a4",
			"next begin=a1 a1=restarted begin=a2 a2=restarted begin=",
			"batch 1, a1 a2: stop.restarts: 2 of 4 hosts have restarted something (a1, a2); limit: 2 (50% of 4, rounded down, at least 1)"},
		{"restarts that are predicted", Rules{Stop: Limits{Restarts: two}}, "a1* a2 a3*", "next begin=",
			"batch 0, a1 a3: stop.restarts: services would restart on 2 of 3 hosts; limit: 2"},
		{"of hosts that are in no batch none is predicted", Rules{Stop: Limits{Restarts: two}}, "a1* a2 a3*~", "next begin=a1", ""},

		// Problems before the rollout.
		{"the default limit stops before the first change", Rules{}, "a1 a2? a3", "next begin=",
			"batch 0, a2: stop.failed: 1 of 3 hosts have failed or cannot be reached (a2); limit: 1"},
		{"so does a check that failed", Rules{}, "a1 a2x a3", "",
			"batch 0, a2: stop.failed: 1 of 3 hosts have failed or cannot be reached (a2); limit: 1"},
		{"what was wrong before is of no batch", Rules{Stop: Limits{Failed: two}, PerBatch: Limits{Failed: one}}, "a1 a2?", "next begin=a1", ""},
		{"but of the rollout", Rules{Stop: Limits{Failed: two}}, "a1 a2? a3", "next begin=a1 a1=failed begin=",
			"batch 1, a2 a1: stop.failed: 2 of 3 hosts have failed or cannot be reached (a1, a2); limit: 2"},

		// Places.
		{"a batch that holds more takes turns", Rules{MaxUnavailable: one}, "a1 a2 b1 b2", "next begin=a1 begin=b1 begin= b1=ok begin=b2 begin= a1=ok begin=a2 a2=ok b2=ok over", ""},
		{"percent of a rack, rounded down", Rules{MaxUnavailable: limit(percent(50))}, "a1 a2 a3 b1 b2 b3 b4 b5", "next begin=a1 begin=b1 begin=b2 begin=", ""},
		{"percent counts hosts that will not change", Rules{MaxUnavailable: limit(percent(50))}, "a1 a2 a3- a4-", "next begin=a1 begin=a2", ""},
		{"without a bound all begin", Rules{}, "a1 a2 a3?-", "go next begin=a1 begin=a2", ""},
		{"a lost host keeps its place", Rules{MaxUnavailable: one, By: "rack", Stop: Limits{Failed: two}}, "a1 a2 a3 b1 b2", "next begin=a1 begin=b1 a1=lost b1=ok begin=b2 b2=ok begin= stuck",
			"batch 1, a1: max_unavailable: 1 host of each rack may be unavailable at once; unavailable now: a1 was lost; 2 hosts wait"},
		{"a failed one, too", Rules{MaxUnavailable: one, Stop: Limits{Failed: two}}, "a1 a2", "next begin=a1 a1=failed begin= stuck",
			"batch 1, a1: max_unavailable: 1 host of the rollout may be unavailable at once; unavailable now: a1 has failed; 1 host waits"},
		{"until it is healthy", Rules{MaxUnavailable: one, Stop: Limits{Failed: two}}, "a1 a2", "next begin=a1 a1=lost begin= healthy=a1 begin=a2", ""},
		{"or a person says so", Rules{MaxUnavailable: one, Stop: Limits{Failed: two}}, "a1 a2", "next begin=a1 a1=lost begin= stuck release=a1 begin= go begin=a2", ""},
		{"one that was not touched has none", Rules{MaxUnavailable: one, Stop: Limits{Failed: two}}, "a1 a2", "next begin=a1 a1=untouched begin=a2", ""},
		{"who was broken before holds one", Rules{MaxUnavailable: one, Stop: Limits{Failed: two}}, "a1~ a2 b1", "next begin=b1 begin= b1=ok stuck",
			"batch 1, a1: max_unavailable: 1 host of the rollout may be unavailable at once; unavailable now: a1 was not healthy before the rollout; 1 host waits"},
		{"only those are named that are waited for", Rules{MaxUnavailable: one, Stop: Limits{Failed: limit(count(9))}}, "a1~ a2 b1? c1 c2", "next begin=c1 c1=failed stuck",
			"batch 1, a1 c1: max_unavailable: 1 host of the rollout may be unavailable at once; unavailable now: a1 was not healthy before the rollout, c1 has failed; 2 hosts wait"},
		{"an unreachable one holds one", Rules{MaxUnavailable: two, Stop: Limits{Failed: two}}, "a1? a2 a3", "next begin=a2 begin= a2=ok begin=a3", ""},
		{"one at work does not get healthy meanwhile", Rules{MaxUnavailable: one}, "a1 a2", "next begin=a1 healthy=a1 begin=", ""},

		// Interrupted.
		{"a host that is left comes first", Rules{MaxUnavailable: one}, "a1 a2 a3", "next begin=a1 leave=a1 begin=a1 a1=ok begin=a2", ""},

		// Gates.
		{"a gate that passed", Rules{}, "a1", "next begin=a1 a1=ok gate=passed over", ""},
		{"one that failed", Rules{}, "a1", "next begin=a1 a1=ok gate=failed",
			"batch 1, [web]: stop.gate: gates not passed: 1; limit: 1; last gate: web: 1 bad of 1"},
		{"one of which it cannot be told", Rules{Stop: Limits{Gate: two}}, "a1", "next begin=a1 a1=ok gate=inconclusive",
			"batch 1, [web]: gate: web is inconclusive: 1 bad of 1"},
		{"which may count", Rules{Stop: Limits{Gate: two}}, "a1 a2", "next begin=a1 a1=ok gatestops=inconclusive", ""},
		{"the second", Rules{Batches: sizes(count(1)), Stop: Limits{Gate: two}}, "a1 a2", "next begin=a1 a1=ok gate=failed next begin=a2 a2=ok gatestops=inconclusive",
			"batch 2, [web web]: stop.gate: gates not passed: 2; limit: 2; last gate: web: 1 bad of 1"},
		{"gates per batch", Rules{Batches: sizes(count(1)), Stop: Limits{Gate: limit(count(9))}, PerBatch: Limits{Gate: two}}, "a1 a2",
			"next begin=a1 a1=ok gate=failed next begin=a2 a2=ok gate=failed gate=failed",
			"batch 2, [web web]: stop.per_batch.gate: gates not passed: 2; limit: 2; last gate: web: 1 bad of 1"},

		// Persons.
		{"hold", Rules{}, "a1 a2", "next begin=a1 hold=ann begin= a1=ok hold=bob", "batch 1: hold: requested by ann"},
		{"go", Rules{}, "a1 a2", "next begin=a1 hold=ann begin= go begin=a2", ""},
		{"after go the next one stops it", Rules{}, "a1 a2 a3", "next begin=a1 a1=failed go begin=a2 a2=failed begin=",
			"batch 1, a1 a2: stop.failed: 2 of 3 hosts have failed or cannot be reached (a1, a2); limit: 1"},
		{"but not one that is well", Rules{}, "a1 a2 a3", "next begin=a1 a1=failed go begin=a2 a2=restarted begin=a3", ""},
		{"what fails while it stops is counted", Rules{}, "a1 a2 a3", "next begin=a1 begin=a2 a1=failed a2=failed go begin=a3", ""},

		// Time.
		{"no progress", Rules{}, "a1 a2", "next begin=a1 late", "batch 1, a1: progress_deadline: no host has finished for 30m; in progress: a1"},
		{"with nobody at work", Rules{}, "a1", "next late", "batch 1: progress_deadline: no host has finished for 30m; in progress: none"},
		{"no more than ten are named", Rules{Stop: Limits{Failed: limit(count(11))}}, "a1x a2x a3x a4x a5x a6x a7x a8x a9x b1x b2x", "",
			"batch 0, a1 a2 a3 a4 a5 a6 a7 a8 a9 b1 b2: stop.failed: 11 of 11 hosts have failed or cannot be reached (a1, a2, a3, a4, a5, a6, a7, a8, a9, b1 and 1 more); limit: 11"},
		{"no hosts", Rules{}, "", "over", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			conductor := NewConductor(NewPlan(c.rules, hosts(c.hosts), Options{}), nil)
			play(t, conductor, c.history)
			requireStop(t, c.stop, conductor.Stopped())
		})
	}
}

// requireStop compares a stop as it is written in tables: batch 1, its hosts, [its gates]: rule: text.
func requireStop(t *testing.T, want string, stop *Stop) {
	t.Helper()
	if stop == nil {
		require.Empty(t, want)
		return
	}
	head, text, _ := strings.Cut(want, ": ")
	_, of, _ := strings.Cut(head, ", ")
	require.Equal(t, text, stop.String())
	require.Equal(t, head[:len("batch 0")], "batch "+string(rune('0'+stop.Batch)))
	if gates, ok := strings.CutPrefix(of, "["); ok {
		require.Equal(t, strings.Fields(strings.TrimSuffix(gates, "]")), stop.Gates)
		return
	}
	require.ElementsMatch(t, strings.Fields(of), stop.Hosts)
}

func TestIncludeBroken(t *testing.T) {
	rules := Rules{MaxUnavailable: limit(count(1)), Stop: Limits{Failed: limit(count(9))}}
	for _, c := range []struct{ name, hosts, history string }{
		{"who holds a place begins, in its turn", "a1~ a2~ a3", "next begin=a1 begin= a1=ok begin=a2 begin= a2=ok begin=a3"},
		{"and has it still when it was not touched", "a1~ a2", "next begin=a1 a1=untouched begin= stuck"},
		{"or was interrupted", "a1~ a2", "next begin=a1 leave=a1 begin=a1 begin="},
		{"but not if a person has released it", "a1~ a2", "next release=a1 begin=a1 begin= a1=untouched begin=a2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, NewConductor(NewPlan(rules, hosts(c.hosts), Options{IncludeBroken: true}), nil), c.history)
		})
	}
}

// TestGoingOn resumes a run.
func TestGoingOn(t *testing.T) {
	one, two := limit(count(1)), limit(count(2))
	for _, c := range []struct {
		name    string
		rules   Rules
		hosts   string // that remain
		past    Past
		history string
		stop    string
	}{
		{"what was counted is no reason to stop", Rules{}, "a2 a3 a4",
			Past{Batches: [][]string{{"a1", "a2"}, {"a3", "a4"}}, Failed: []string{"a2"}}, "next begin=a2 a2=ok next begin=a3 begin=a4 a3=ok a4=ok over", ""},
		{"nor is one that could not be reached and still cannot", Rules{}, "a2? a3",
			Past{Batches: [][]string{{"a1", "a2"}, {"a3"}}, Unreachable: []string{"a2"}}, "next next begin=a3 a3=ok over", ""},
		{"another one is", Rules{Stop: Limits{Failed: two}}, "a2? a3? a4",
			Past{Batches: [][]string{{"a1", "a2"}, {"a3", "a4"}}, Unreachable: []string{"a2"}}, "",
			"batch 0, a2 a3: stop.failed: 2 of 3 hosts have failed or cannot be reached (a2, a3); limit: 2"},
		{"one that fails again stops it", Rules{}, "a2 a3",
			Past{Batches: [][]string{{"a1", "a2"}, {"a3"}}, Failed: []string{"a2"}}, "next begin=a2 a2=failed begin=",
			"batch 1, a2: stop.failed: 1 of 2 hosts have failed or cannot be reached (a2); limit: 1"},
		{"one that failed and is lost counts once", Rules{Stop: Limits{Failed: two}}, "a2 a3",
			Past{Batches: [][]string{{"a1", "a2"}, {"a3"}}, Failed: []string{"a2"}}, "next begin=a2 a2=lost next begin=a3", ""},
		{"counts go on", Rules{Stop: Limits{Failed: two}}, "a2 a3",
			Past{Batches: [][]string{{"a1", "a2"}, {"a3"}}, Failed: []string{"a2"}}, "next begin=a2 a2=ok next begin=a3 a3=failed",
			"batch 2, a2 a3: stop.failed: 2 of 2 hosts have failed or cannot be reached (a2, a3); limit: 2"},
		{"those of the batch, too, and its size", Rules{Stop: Limits{Failed: limit(count(9))}, PerBatch: Limits{Failed: limit(percent(50))}}, "a2 a3 a4",
			Past{Batches: [][]string{{"a1", "a2", "a3", "a4"}}, Failed: []string{"a2"}}, "next begin=a2 a2=ok begin=a3 a3=failed",
			"batch 1, a2 a3: stop.per_batch.failed: 2 of 4 hosts of the batch have failed or cannot be reached (a2, a3); limit: 2 (50% of 4, rounded down, at least 1)"},
		{"gates go on", Rules{Stop: Limits{Gate: two}}, "a2",
			Past{Batches: [][]string{{"a1"}, {"a2"}}, Gates: []string{"web"}}, "next next begin=a2 a2=ok gate=failed",
			"batch 2, [web web]: stop.gate: gates not passed: 2; limit: 2; last gate: web: 1 bad of 1"},
		{"restarts are not predicted again", Rules{Stop: Limits{Restarts: two}}, "a2* a3",
			Past{Batches: [][]string{{"a1", "a2"}, {"a3"}}, Restarted: []string{"a1"}}, "next begin=a2 a2=restarted",
			"batch 1, a1 a2: stop.restarts: 2 of 2 hosts have restarted something (a1, a2); limit: 2"},
		{"who was left in the midst of it holds a place", Rules{MaxUnavailable: one}, "a1 a2 a3",
			Past{Batches: [][]string{{"a1", "a2", "a3"}}, Left: map[string]bool{"a2": true}}, "next begin=a2 begin= a2=ok begin=a1", ""},
		{"also if it is not seen again", Rules{MaxUnavailable: one, Stop: Limits{Failed: two}}, "a1 a2? a3",
			Past{Batches: [][]string{{"a1", "a2", "a3"}}, Left: map[string]bool{"a2": true}}, "next begin= stuck",
			"batch 1, a2: max_unavailable: 1 host of the rollout may be unavailable at once; unavailable now: a2 could not be reached before the rollout; 2 hosts wait"},
		{"hosts that are gone are counted still", Rules{Stop: Limits{Failed: two}}, "a3 a4",
			Past{Batches: [][]string{{"gone"}, {"a3", "a4"}}, Failed: []string{"gone"}}, "next next begin=a3 a3=failed",
			"batch 2, gone a3: stop.failed: 2 of 2 hosts have failed or cannot be reached (gone, a3); limit: 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conductor := NewConductor(NewPlan(c.rules, hosts(c.hosts), Options{Begun: c.past.Batches}), &c.past)
			play(t, conductor, c.history)
			requireStop(t, c.stop, conductor.Stopped())
		})
	}
}

func TestRelease(t *testing.T) {
	c := NewConductor(NewPlan(Rules{MaxUnavailable: limit(count(1))}, hosts("a1 a2~ a3 b1"), Options{}), nil)
	play(t, c, "next begin=b1")
	require.EqualError(t, c.Release("c1"), "c1 is not a host of this rollout")
	require.EqualError(t, c.Release("b1"), "b1 is in progress")
	require.EqualError(t, c.Release("a3"), "a3 holds no place")
	require.Equal(t, []Held{{"a2", "was not healthy before the rollout"}}, c.Held())
	require.NoError(t, c.Release("a2"))
	require.Empty(t, c.Held())
	play(t, c, "begin=a1 begin=")
}

func TestStatus(t *testing.T) {
	c := NewConductor(NewPlan(Rules{Batches: sizes(count(3)), Stop: Limits{Failed: limit(count(9))}}, hosts("a1* a2 a3 a4 a5- a6?"), Options{}), nil)
	play(t, c, "next begin=a1 begin=a2 begin=a3 a1=restarted a2=failed")
	require.Equal(t, Status{
		Batch: 1, Batches: 2, Hosts: 6, Stable: 1, ToChange: 4, Done: 1, Waiting: 1, AtWork: []string{"a3"},
		Held:   []Held{{"a2", "has failed"}, {"a6", "could not be reached before the rollout"}},
		Failed: []string{"a2"}, Unreachable: []string{"a6"}, Restarted: 1,
	}, c.Status())
	require.Equal(t, 1, c.Left())
	require.Equal(t, []string{"a1", "a2"}, c.Touched(true))
	play(t, c, "a3=ok next begin=a4 a4=ok")
	require.Equal(t, []string{"a4"}, c.Touched(true))
	require.Equal(t, []string{"a1", "a2", "a3", "a4"}, c.Touched(false))
	require.Zero(t, c.Left())
}
