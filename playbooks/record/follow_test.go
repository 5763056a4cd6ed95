package record

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestFollow follows a run from before its first result to its end, from the midst of it, and one
// whose program is killed.
func TestFollow(t *testing.T) {
	for _, killed := range []bool{false, true} {
		s := newStore(t)
		id := NewID(began)
		recorder := s.Recorder(Header{Run: id, Started: began}, func(text string) { t.Error(text) })
		stream := events.NewStream(id, func() time.Time { return began }, recorder)
		stream.Report(events.RunStart{Plays: plays("web1", "web2")})
		stream.Sync()
		run, err := s.Find(id)
		require.NoError(t, err)
		require.Equal(t, Running, run.Outcome())

		var all []events.Event
		tells := []events.Event{result("web1", events.Changed), result("web2", events.Stable), events.Summary{Totals: events.Totals{}}}
		for e, err := range run.Follow(t.Context()) {
			require.NoError(t, err)
			all = append(all, e)
			next := len(all) - 1 // one for each that is heard, so that it is waited for
			switch {
			case next == 2 && killed:
				recorder.close() // as the end of the process does
			case next < len(tells):
				stream.Report(tells[next])
			}
		}
		if killed {
			require.Len(t, all, 3)
			require.Equal(t, Killed, run.Outcome())
			continue
		}
		require.Len(t, all, 4)
		require.Equal(t, plays("web1", "web2"), all[0].(events.RunStart).Plays)
		require.Equal(t, OK, run.Outcome())
		for e, err := range run.Follow(t.Context()) { // it has ended: all is there
			require.NoError(t, err)
			require.Equal(t, all[0], e)
			all = all[1:]
		}
		require.Empty(t, all)
	}
}

// TestFollowIsLeft stops following a run that continues.
func TestFollowIsLeft(t *testing.T) {
	s := newStore(t)
	run := s.record(t, Header{}, events.RunStart{Plays: plays("web1")})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var last error
	for e, err := range run.Follow(ctx) {
		if last = err; e != nil {
			leave()
		}
	}
	require.True(t, errors.Is(last, context.Canceled))
	require.Equal(t, Running, run.Outcome())
}
