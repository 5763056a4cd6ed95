package playbooks

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// A faultCase is one run with one fault.
type faultCase struct {
	fault  faultproxy.Fault
	graph  bool
	staged bool // the play uses results: it comes in three catalogs
	cached bool // the host program is there already
	alone  bool // without reconnecting: --reconnect 0
	early  bool // the fault comes at the login, or while the host program is sent
}

// String has no comma, which YAML would take for its own in paths of the test.
func (c faultCase) String() string {
	words := []string{c.fault.String()}
	for _, property := range []struct {
		is   bool
		name string
	}{{c.graph, "graph"}, {c.staged, "staged"}, {c.cached, "cached"}, {c.alone, "alone"}} {
		if property.is {
			words = append(words, property.name)
		}
	}
	return strings.Join(words, " ")
}

// uncut is a run without a fault: its reports, and the transferred data.
type uncut struct {
	results map[string]string
	ran     []string
	passed  [2]faultproxy.Passed
}

// requireUncut makes a run without a fault.
func requireUncut(t *testing.T, c faultCase) uncut {
	t.Helper()
	h := newFaultyHost(t, c)
	all := h.run("run1")
	require.Len(t, all.results, 10, all.lines)
	for ref, status := range all.results {
		require.Equal(t, "changed", status, ref)
	}
	u := uncut{results: all.results, ran: h.ran(), passed: [2]faultproxy.Passed{h.proxy.Passed(0, faultproxy.ToServer), h.proxy.Passed(0, faultproxy.FromServer)}}
	require.Len(t, u.ran, 5)
	return u
}

// requireSame makes a run with the fault, and further runs until everything is done: together they report the same as
// an uncut run.
func (u uncut) requireSame(t *testing.T, c faultCase) {
	h := newFaultyHost(t, c)
	changed, before := map[string]int{}, map[string]int{}
	var said strings.Builder
	runs := 0
	for last := (told{}); len(last.results) < len(u.results); runs++ {
		require.Less(t, runs, 3, "no run comes to its end:\n%s", &said)
		last = h.run(fmt.Sprint("run", runs+1))
		said.WriteString(last.lines)
		for ref, status := range last.untold {
			if status == "failed the connection was lost before its content had come" {
				continue
			}
			require.Equal(t, "changed", status, "untold %s\n%s", ref, &said)
			before[ref]++
		}
		for ref, status := range last.results {
			require.Contains(t, []string{"changed", "stable", "skipped"}, status, "%s\n%s", ref, &said)
			if status == "changed" {
				changed[ref]++
			}
		}
	}
	for ref := range u.results {
		require.LessOrEqual(t, changed[ref], 1, "%s is told twice\n%s", ref, &said)
		require.LessOrEqual(t, before[ref], 1, "%s is told twice\n%s", ref, &said)
		require.Positive(t, changed[ref]+before[ref], "%s is not told\n%s", ref, &said)
	}
	if runs == 1 {
		require.Empty(t, before, &said)
		require.Equal(t, slices.Sorted(maps.Keys(u.results)), slices.Sorted(maps.Keys(changed)), &said)
	}
	if c.fault.Kind == faultproxy.Drip {
		require.Equal(t, 1, runs, &said)
		require.NotContains(t, said.String(), "reconnected")
	}
	ran := h.ran()
	if c.graph {
		slices.Sort(ran)
		slices.Sort(u.ran)
	}
	require.Equal(t, u.ran, ran, &said)
	reconnected := strings.Contains(said.String(), "reconnected")
	again := h.run("again")
	if runs == 1 && !reconnected && h.proxy.Struck(0) && len(again.untold) > 0 {
		// Everything was reported, but the acknowledgement did not arrive.
		require.Equal(t, u.results, again.untold)
		again = h.run("again2")
	}
	require.Empty(t, again.untold, again.lines)
	for ref, status := range again.results {
		require.Contains(t, []string{"stable", "skipped"}, status, "%s\n%s%s", ref, &said, again.lines)
	}
	h.requireQuiet()
	t.Logf("%d runs, fault struck: %v, reconnected: %v, %.1f s", runs, h.proxy.Struck(0), reconnected, time.Since(h.begun).Seconds())
}

// faultOffsets is at how many bytes faults are tried in each direction. Half of them are in
// what a run with a cached host program has, too.
const faultOffsets = 60

// faultCases returns all cases: at each boundary of packets, and at a number of offsets. Up to the catalog, where
// neither graph nor cache matters, boundaries are tried once.
func faultCases(of func(graph, cached bool) uncut) (all []faultCase) {
	for _, graph := range []bool{false, true} {
		for _, cached := range []bool{false, true} {
			for d, passed := range of(graph, cached).passed {
				tail := of(graph, true).passed[d]
				add := func(place faultproxy.Fault, early bool) {
					place.Direction = faultproxy.Direction(d)
					for _, kind := range faultproxy.Kinds {
						place.Kind = kind
						all = append(all, faultCase{fault: place, graph: graph, cached: cached, early: early})
						if kind == faultproxy.Reset {
							all = append(all, faultCase{fault: place, graph: graph, cached: cached, early: early, alone: true})
						}
					}
				}
				for n := 1; n <= passed.Packets; n++ {
					early := passed.Packets-n > tail.Packets*2/3
					if !early || !graph && !cached {
						add(faultproxy.Fault{Packets: n}, early)
					}
				}
				for i := range int64(faultOffsets / 2) {
					add(faultproxy.Fault{Bytes: i * passed.Bytes / (faultOffsets / 2)}, true)
					add(faultproxy.Fault{Bytes: passed.Bytes - tail.Bytes + (2*i+1)*tail.Bytes/faultOffsets}, i < faultOffsets/6)
				}
			}
		}
	}
	return all
}

// someFaults are so many of the cases, most of them where results are under way.
func someFaults(t *testing.T, cases []faultCase, n int) (some []faultCase) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CCM_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	room := map[bool]int{true: n / 4, false: n - n/4}
	stalls := n / 24 // that are early: they wait longest
	for _, i := range random.Perm(len(cases)) {
		c := cases[i]
		if c.early && c.fault.Kind == faultproxy.Stall {
			if stalls--; stalls < 0 {
				continue
			}
		}
		if room[c.early] > 0 {
			room[c.early]--
			some = append(some, c)
		}
	}
	t.Logf("CCM_SEED=%d: %d of %d faults", seed, len(some), len(cases))
	return some
}

// TestFaults has connections go wrong in every way, at every place: CCM_FAULTS=all tries all
// of them (make faults), else it is some, which CCM_SEED chooses.
func TestFaults(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	known := map[[2]bool]uncut{}
	of := func(graph, cached bool) uncut {
		key := [2]bool{graph, cached}
		if _, is := known[key]; !is {
			known[key] = requireUncut(t, faultCase{graph: graph, cached: cached})
		}
		return known[key]
	}
	cases := faultCases(of)
	switch {
	case os.Getenv("CCM_FAULTS") == "all":
		t.Logf("%d faults", len(cases))
	case testing.Short():
		cases = someFaults(t, cases, 24)
	default:
		cases = someFaults(t, cases, 120)
	}
	for _, c := range cases {
		u := of(c.graph, c.cached)
		u.ran = slices.Clone(u.ran)
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			u.requireSame(t, c)
		})
	}
}

// TestFaultsInStages is TestFaults for a play whose later resources use the results of earlier ones, also with faults
// between its stages.
func TestFaultsInStages(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	u := requireUncut(t, faultCase{staged: true, cached: true})
	cases := faultCases(func(bool, bool) uncut { return u })
	cases = slices.DeleteFunc(cases, func(c faultCase) bool { return c.graph || !c.cached })
	switch {
	case os.Getenv("CCM_FAULTS") == "all":
	case testing.Short():
		cases = someFaults(t, cases, 12)
	default:
		cases = someFaults(t, cases, 48)
	}
	for _, c := range cases {
		c.staged = true
		u := u
		u.ran = slices.Clone(u.ran)
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			u.requireSame(t, c)
		})
	}
}
