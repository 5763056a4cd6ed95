package rollout

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// An oracle knows what a rollout may do, from docs/guide/rollout-rules.md and without any of the tested code. It
// receives the events, and fails the test at a forbidden one.
type oracle struct {
	t     testing.TB
	rules simRules
	racks map[string]string // rack of each host of the play
	out   map[string]bool   // in progress, lost, failed and touched, or broken before
	work  map[string]bool
	went  map[string]map[string]bool // hosts and gates by counter: failed, unreachable, restarts, gate
	batch map[string]map[string]bool // the same, of the batch
	size  int                        // size of the batch
	why   string                     // the rule that stops it
	names []string                   // hosts that rule counts
}

// share returns a count, or a share in percent rounded down, at least 1; 0 of both means no limit.
func share(l simLimit, of int) int {
	if l.percent > 0 {
		return max(1, l.percent*of/100)
	}
	return l.count
}

// begins is called when a host begins: the rollout has not stopped, and its rack has a place.
func (o *oracle) begins(host string) {
	require.Empty(o.t, o.why, "%s begins although it has stopped", host)
	require.True(o.t, o.fits(host), "%s begins, and too many of its rack are out: %v, at work: %v", host, o.out, o.work)
	o.out[host], o.work[host] = true, true
}

// fits reports whether a host may begin without exceeding the unavailable hosts of its rack. More hosts may be
// unavailable for other reasons; then the limit applies to the hosts in progress.
func (o *oracle) fits(host string) bool {
	size, out, work := 0, 0, 0
	for name, rack := range o.racks {
		if rack == o.racks[host] {
			size++
			out += one(o.out[name])
			work += one(o.work[name])
		}
	}
	most := share(o.rules.maxUnavailable, size)
	return most == 0 || work < most && (o.out[host] || out < most)
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// happened counts an event of a host, and stops the rollout AT a limit, not beyond it.
func (o *oracle) happened(name string, kinds ...string) {
	for _, scope := range []struct {
		went map[string]map[string]bool
		key  string
		of   int
		max  map[string]simLimit
	}{{o.went, "stop.", len(o.racks), o.rules.stop}, {o.batch, "stop.per_batch.", o.size, o.rules.perBatch}} {
		if scope.went == nil {
			continue
		}
		for _, kind := range kinds {
			if scope.went[kind] == nil {
				scope.went[kind] = map[string]bool{}
			}
			scope.went[kind][name] = true
		}
		for _, rule := range []string{"failed", "unreachable", "restarts"} {
			set, now := map[string]bool{}, false
			apart := scope.max["unreachable"] != simLimit{} || o.rules.stop["unreachable"] != simLimit{}
			for _, kind := range []string{"failed", "unreachable", "restarts"} { // unreachable is failed, unless said otherwise
				if kind == rule || kind == "unreachable" && rule == "failed" && !apart {
					for name := range scope.went[kind] {
						set[name] = true
					}
					now = now || slices.Contains(kinds, kind)
				}
			}
			most := share(scope.max[rule], scope.of)
			if o.why == "" && most > 0 && len(set) >= most && now {
				o.why, o.names = scope.key+rule, nil
				for name := range set {
					o.names = append(o.names, name)
				}
				slices.Sort(o.names)
			}
		}
	}
}

// agrees compares the oracle's stop reason with the conductor's.
func (o *oracle) agrees(stop *Stop) {
	if o.why == "" {
		require.Nil(o.t, stop)
		return
	}
	require.NotNil(o.t, stop, "it has to stop by %s", o.why)
	require.Equal(o.t, o.why, stop.Rule, "%s", stop)
	if o.names != nil {
		require.ElementsMatch(o.t, o.names, stop.Hosts)
	}
	require.NotEmpty(o.t, stop.Text)
}
