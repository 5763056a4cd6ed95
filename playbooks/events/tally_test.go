package events_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

func TestExitStatus(t *testing.T) {
	changed := file("a", "/x", events.Changed)
	failed := file("b", "/x", events.Failed)
	gone := events.Unreachable{Host: "c"}
	broken := events.HostFailed{Host: "d", Phase: "facts"}
	noop := with(changed, func(r *events.Result) { r.Check = true })
	unwell := with(failed, func(r *events.Result) { r.Changed = true })
	cut := events.Interrupted{Host: "e", Rest: events.Rest{NotReached: 2}}
	tests := []struct {
		name            string
		events          []events.Event
		plain, detailed int
	}{
		{"nothing", nil, 0, 0},
		{"stable and skipped", []events.Event{file("a", "/x", events.Stable), file("a", "/y", events.Skipped)}, 0, 0},
		{"changed", []events.Event{changed}, 0, 8},
		{"failed", []events.Event{failed}, 2, 2},
		{"failed after a change", []events.Event{unwell}, 2, 10},
		{"a noop resource that would change", []events.Event{noop}, 0, 0},
		{"would change", []events.Event{events.RunStart{Check: true}, noop}, 0, 8},
		{"not reached", []events.Event{cut}, 0, 0},
		{"host failed", []events.Event{broken}, 2, 2},
		{"unreachable", []events.Event{gone}, 4, 4},
		{"failed resource on a host that was lost later", []events.Event{failed, events.Unreachable{Host: "b"}}, 2, 2},
		{"reverted", []events.Event{changed, events.Reverted{Host: "a"}}, 18, 26},
		{"reverted in an earlier run", []events.Event{events.Reverted{Host: "a", Earlier: "r0"}}, 0, 0},
		{"confirmed", []events.Event{events.Armed{Host: "a"}, changed, events.Confirmed{Host: "a"}}, 0, 8},
		{"everything", []events.Event{changed, failed, gone, broken}, 6, 14},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sum := scene{events: tt.events}.play()
			require.Equal(t, tt.plain, sum.ExitStatus(false))
			require.Equal(t, tt.detailed, sum.ExitStatus(true))
		})
	}
}

func TestTallySums(t *testing.T) {
	uncertain := func(r *events.Result) { r.Certain = false }
	sum := scene{events: []events.Event{
		events.RunStart{Check: true},
		file("a", "/x", events.Changed),
		with(file("a", "/y", events.Stable), uncertain),
		with(file("b", "/y", events.Skipped), uncertain),
		file("b", "/z", events.Failed),
		events.HostDone{Host: "a", Duration: time.Second},
	}}.play()
	share := 0.5
	require.Equal(t, events.Summary{
		Check: true,
		Hosts: map[string]events.HostSummary{
			"a": {State: events.StateOK, Counts: events.Counts{Changed: 1, Stable: 1}, Duration: time.Second},
			"b": {State: events.StateFailed, Counts: events.Counts{Skipped: 1, Failed: 1}},
		},
		Totals: events.Totals{
			Hosts:        events.HostTotals{OK: 1, Failed: 1},
			Resources:    events.ResourceTotals{Counts: events.Counts{Stable: 1, Changed: 1, Skipped: 1, Failed: 1}, Uncertain: 2},
			CertainShare: &share,
		},
	}, sum)
}

// TestTallyCountsApart checks that skipped resources, failures after a change and changes prevented by noop have
// separate counts.
func TestTallyCountsApart(t *testing.T) {
	sum := scene{stop: true, events: []events.Event{
		with(file("a", "/x", events.Changed), func(r *events.Result) { r.Check = true }),
		with(file("a", "/y", events.Failed), func(r *events.Result) { r.Changed = true }),
		events.Interrupted{Host: "a", Rest: events.Rest{NotReached: 2}},
		file("b", "/x", events.Stable),
		events.Interrupted{Host: "b", Rest: events.Rest{NotReached: 3}},
		events.HostFailed{Host: "c", Phase: "lost", Rest: events.Rest{NotReached: 4}},
	}}.play()
	require.Equal(t, map[string]events.HostSummary{
		"a": {State: events.StateFailed, Counts: events.Counts{WouldChange: 1, Failed: 1, FailedChanged: 1, NotReached: 2}},
		"b": {State: events.StateInterrupted, Counts: events.Counts{Stable: 1, NotReached: 3}},
		"c": {State: events.StateFailed, Counts: events.Counts{NotReached: 4}},
	}, sum.Hosts)
	require.Equal(t, events.HostTotals{Failed: 2, Interrupted: 1}, sum.Totals.Hosts)
	require.Equal(t, events.Counts{Stable: 1, WouldChange: 1, Failed: 1, FailedChanged: 1, NotReached: 9}, sum.Totals.Resources.Counts)
	require.Equal(t, 3, sum.Totals.Resources.Sum(), "of results")
}

// A recorder keeps the reported events; calls must not overlap.
type recorder struct{ events []events.Event }

func (r *recorder) Report(e events.Event) { r.events = append(r.events, e) }

func TestStreamOrdersAndStamps(t *testing.T) {
	const hosts, each = 20, 50
	var rec recorder
	stream := events.NewStream("r1", newClock().Now, &rec)
	var g sync.WaitGroup
	for h := range hosts {
		g.Go(func() {
			for i := range each {
				stream.Report(file(fmt.Sprint(h), fmt.Sprint(i), events.Stable))
			}
		})
	}
	g.Wait()
	require.Len(t, rec.events, hosts*each)
	next := make(map[string]int)
	last := time.Time{}
	for _, e := range rec.events {
		r := e.(events.Result)
		require.Equal(t, fmt.Sprint(next[r.Host]), r.Name)
		next[r.Host]++
		require.Equal(t, "r1", r.Run)
		require.True(t, r.Time.After(last))
		last = r.Time
	}
}

func TestStreamKeepsStamps(t *testing.T) {
	var rec recorder
	at := events.Stamp{Time: time.Unix(7, 0), Run: "other"}
	events.NewStream("r1", newClock().Now, &rec).Report(events.HostDone{Stamp: at})
	require.Equal(t, []events.Event{events.HostDone{Stamp: at}}, rec.events)
}

func TestStreamWithholdsSecrets(t *testing.T) {
	var rec recorder
	secret := with(file("web1", "/s", events.Changed, "content"), func(r *events.Result) {
		r.Sensitive, r.Diff = true, "+hunter2"
		r.Command = &events.Command{Stdout: "hunter2", Stderr: "hunter2", ExitCode: 4}
	})
	events.NewStream("r1", newClock().Now, &rec).Report(secret)
	got := rec.events[0].(events.Result)
	require.NotContains(t, fmt.Sprintf("%+v %+v", got, *got.Command), "hunter2")
	require.Equal(t, []events.Change{{Property: "content", Have: "[sensitive]", Want: "[sensitive]"}}, got.Changes)
	require.Equal(t, &events.Command{ExitCode: 4}, got.Command)
	require.Equal(t, "new content", secret.Changes[0].Want, "the sender's event is left alone")
}
