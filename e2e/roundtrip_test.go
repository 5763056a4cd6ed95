//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A roundTrip takes resources on a host through all steps: they are predicted, applied, stable, undone, applied again,
// changed by hand and repaired.
type roundTrip struct {
	host    string
	prepare string // for the shell, like the next ones: creates the former state
	site    string // resources, indented by four
	state   string // prints the state of all their things
	want    string // expected state after the properties are applied
	drift   string // the change by hand
	maybe   bool   // only the run shows whether all of it can be done
}

func (r roundTrip) on(t *testing.T, f *fleet, as ...string) {
	f = f.in(t)
	f.sh(r.host, "rm -rf /var/lib/ccm-push; "+r.prepare)
	write(t, f.path("trip.yaml"), "name: trip\nhosts: "+r.host+"\nccm:\n  resources:\n"+r.site)
	apply := func(flags ...string) map[string]event {
		t.Helper()
		run := f.push(append(append(as, "--output", "json", "--diff"), append(flags, "trip.yaml")...)...)
		run.requireCode(t, 0)
		return outcomes(run.events(t))
	}
	statuses := func(all map[string]event, want string) int {
		n := 0
		for _, e := range all {
			if e.Status == want {
				n++
			}
		}
		return n
	}
	before := f.sh(r.host, r.state)
	predicted := apply("--check")
	require.Equal(t, before, f.sh(r.host, r.state), "a check run has changed something")
	for name, e := range predicted {
		require.True(t, e.Certain || r.maybe, "%s: %s", name, e.Because)
	}
	first := apply()
	f.requireForetold(predicted, first)
	require.NotZero(t, statuses(first, "changed"))
	require.Equal(t, r.want, f.sh(r.host, r.state))
	require.Equal(t, len(first), statuses(apply(), "stable"), "a second run has found something")

	undo := f.push("undo", "--yes", "--output", "json")
	undo.requireCode(t, 0)
	require.Equal(t, before, f.sh(r.host, r.state), undo.stdout)

	apply()
	f.sh(r.host, r.drift)
	drifted := apply("--check")
	require.NotZero(t, statuses(drifted, "changed"), "nobody has noticed")
	f.requireForetold(drifted, apply())
	require.Equal(t, r.want, f.sh(r.host, r.state))
}
