package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestTold reads the results that a killed run had reported of each host. It finds nothing for runs without a record,
// with any name from a host.
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
	require.Equal(t, motd(events.Changed, 2), told.Of(id, 1, "web1", ""))
	require.Equal(t, motd(events.Failed, 1), told.Of(id, 2, "web1", ""))
	for _, play := range []int{-1, 0, 3} {
		require.Empty(t, told.Of(id, play, "web1", ""))
	}
	require.Empty(t, told.Of(id, 1, "web2", ""))
	require.Empty(t, told.Of(NewID(began), 1, "web1", ""))
	require.Empty(t, told.Of("../../etc", 1, "web1", ""))
	require.Empty(t, (*Told)(nil).Of(id, 1, "web1", ""))
	for range 2 * maxTold {
		require.Empty(t, told.Of(NewID(began), 1, "web1", ""))
	}
	require.Len(t, told.runs, maxTold)
	require.NotEmpty(t, told.Of(id, 1, "web1", ""))
}

// TestToldByAResume has a resume report what the run could not report.
func TestToldByAResume(t *testing.T) {
	s := newStore(t)
	start := events.RunStart{Hosts: 2, Plays: plays("web1", "web2")}
	elsewhere := result("web2", events.Changed)
	elsewhere.On = "db1"
	first := s.record(t, Header{Run: NewID(began), Manifests: []Manifest{{}}}, start)
	resume := Header{Run: NewID(began.Add(time.Second)), Manifests: []Manifest{{}}, Resumes: first.Run, Origin: Origin{First: first.Run, Epoch: 1}}
	s.record(t, resume, start, elsewhere)
	motd := events.UntoldResult{Type: "file", Name: "/etc/motd", Status: events.Changed}
	require.Equal(t, map[events.UntoldResult]int{motd: 1}, s.Told().Of(first.Run, 1, "db1", "web2"))
	require.Empty(t, s.Told().Of(first.Run, 1, "web2", ""))
	require.Empty(t, s.Told().Of(first.Run, 1, "db1", ""), "it ran for another host")

	s.record(t, Header{Run: NewID(began.Add(2 * time.Second)), Manifests: []Manifest{{}}}, start, elsewhere)
	require.Equal(t, map[events.UntoldResult]int{motd: 1}, s.Told().Of(first.Run, 1, "db1", "web2"), "a run of its own")
}
