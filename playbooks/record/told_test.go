package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestTold reads what a killed run had told of each host, and knows nothing of runs without a
// record, whatever a host calls them.
func TestTold(t *testing.T) {
	s := newStore(t)
	second := result("web1", events.Failed)
	second.Play = "second"
	predicted := result("web2", events.Changed)
	predicted.Check = true
	r := s.record(t, Header{},
		events.RunStart{Hosts: 2, Plays: plays("web1", "web2")},
		result("web1", events.Changed), result("web1", events.Changed), result("web2", events.Stable), predicted, second,
	)
	motd := func(status events.Status, n int) map[events.UntoldResult]int {
		return map[events.UntoldResult]int{{Type: "file", Name: "/etc/motd", Status: status}: n}
	}
	told := s.Told()
	id := r.Header.Run
	require.Equal(t, motd(events.Changed, 2), told.Of(id, 1, "web1"))
	require.Equal(t, motd(events.Failed, 1), told.Of(id, 2, "web1"))
	for _, play := range []int{-1, 0, 3} {
		require.Empty(t, told.Of(id, play, "web1"))
	}
	require.Empty(t, told.Of(id, 1, "web2"))
	require.Empty(t, told.Of(NewID(began), 1, "web1"))
	require.Empty(t, told.Of("../../etc", 1, "web1"))
	require.Empty(t, (*Told)(nil).Of(id, 1, "web1"))
	for range 2 * maxTold {
		require.Empty(t, told.Of(NewID(began), 1, "web1"))
	}
	require.Len(t, told.runs, maxTold)
	require.NotEmpty(t, told.Of(id, 1, "web1"))
}
