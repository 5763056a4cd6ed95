package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestLeftOn checks which resources ran in an undone run and were not reverted by the undo.
func TestLeftOn(t *testing.T) {
	s := newStore(t)
	of := func(play, host, typ, name string, status events.Status) events.Result {
		return events.Result{Play: play, Host: host, Type: typ, Name: name, Status: status, Changed: status == events.Changed}
	}
	hosts := []string{"web1", "web2"}
	r := s.record(t, Header{Run: NewID(began), Manifests: []Manifest{{Path: "site.yaml"}}},
		events.RunStart{Hosts: 2, Plays: plays(hosts...)},
		events.PlayStart{Play: "web tier", Number: 1, Batch: 1, Batches: 1, Hosts: hosts},
		of("web tier", "web1", "exec", "migrate", events.Changed), of("web tier", "web1", "file", "/a", events.Changed),
		of("web tier", "web2", "exec", "migrate", events.Failed),
		events.PlayStart{Play: "second", Number: 2, Batch: 1, Batches: 1, Hosts: hosts},
		of("second", "web1", "exec", "once more", events.Changed),
		events.Summary{},
	)
	u := s.record(t, Header{Run: NewID(began.Add(1e9)), Undoes: r.Header.Run},
		events.RunStart{Hosts: 2, Plays: plays(hosts...)},
		events.PlayStart{Play: "undo", Number: 1, Batch: 1, Batches: 1, Hosts: hosts},
		of("undo", "web1", "exec", "once more", events.Skipped), of("undo", "web1", "file", "/a", events.Changed),
		of("undo", "web1", "exec", "migrate", events.Skipped), of("undo", "web2", "exec", "migrate", events.Skipped),
		events.Summary{},
	)
	p, err := r.Progress(s)
	require.NoError(t, err)
	p = p.For([]string{"web tier", "second"})
	require.Equal(t, r.Header.Run, p.Plays[0].LeftOn("web1")[ResourceName{"exec", "migrate"}])
	require.Equal(t, r.Header.Run, p.Plays[1].LeftOn("web1")[ResourceName{"exec", "once more"}])
	require.Empty(t, p.Plays[1].LeftOn("web1")[ResourceName{"exec", "migrate"}], "which has run in another play")
	require.Empty(t, p.Plays[0].LeftOn("web1")[ResourceName{"file", "/a"}], "which was undone")
	require.Empty(t, p.Plays[0].LeftOn("web2")[ResourceName{"exec", "migrate"}], "which had changed nothing")

	undone, err := s.UndoneBy(r)
	require.NoError(t, err)
	require.Equal(t, u.Header.Run, undone.Header.Run)
	s.record(t, Header{Run: NewID(began.Add(2e9)), Undoes: u.Header.Run},
		events.RunStart{Hosts: 2, Plays: plays(hosts...)},
		events.PlayStart{Play: "undo", Number: 1, Batch: 1, Batches: 1, Hosts: hosts},
		of("undo", "web1", "file", "/a", events.Changed),
		events.Summary{Totals: events.Totals{Hosts: events.HostTotals{OK: 2}}},
	)
	undone, err = s.UndoneBy(r)
	require.NoError(t, err)
	require.Nil(t, undone, "the undo was undone")
}

// TestChain checks that a run is undone together with the runs that resumed it, the newest first.
func TestChain(t *testing.T) {
	s := newStore(t)
	result := events.Result{Play: "web tier", Host: "web1", Type: "file", Name: "/a", Status: events.Changed, Changed: true}
	var runs []*Run
	for i, h := range []Header{{}, {Check: true}, {}, {Undoes: "x"}, {}} {
		h.Run, h.Manifests = timeID(i), []Manifest{{Path: "site.yaml"}}
		if i == 2 || i == 4 {
			h.Origin, h.Resumes = Origin{First: timeID(0), Epoch: i}, timeID(0)
		}
		all := []events.Event{events.RunStart{Plays: plays("web1", "web2")}, events.PlayStart{Play: "web tier", Number: 1, Batch: 1, Hosts: []string{"web1"}}}
		if i != 4 {
			all = append(all, result)
		}
		runs = append(runs, s.record(t, h, append(all, events.HostDone{Host: "web1"}, events.Summary{})...))
	}
	for _, named := range []int{0, 2, 4} {
		list, of, err := s.Undo(runs[named], nil)
		require.NoError(t, err)
		require.Len(t, list, 2, "the last one has changed nothing")
		require.Equal(t, []string{timeID(2), timeID(0)}, []string{list[0].Undo.Run, list[1].Undo.Run})
		require.Equal(t, timeID(0), of[0].Header.Run)
	}
	_, _, err := s.Undo(runs[0], []string{"file#/nowhere"})
	require.EqualError(t, err, "run "+timeID(0)+" has not changed file#/nowhere\n  hint: to list its changes: ccm-push runs show "+timeID(0)+"")
	_, _, err = s.Undo(runs[1], nil)
	require.EqualError(t, err, "run "+timeID(1)+" was a check run: it changed nothing")
}

func timeID(n int) string { return "01M843PF72P61R1TBNZ2E5J0Z" + string(rune('0'+n)) }

// TestUndoneTogether undoes a run that another one resumed without changing anything: both are undone. A run that
// resumes them after that is not.
func TestUndoneTogether(t *testing.T) {
	s := newStore(t)
	run := func(n int, h Header, status events.Status) *Run {
		h.Run, h.Manifests = timeID(n), []Manifest{{Path: "site.yaml"}}
		result := events.Result{Play: "web tier", Host: "web1", Type: "file", Name: "/a", Status: status, Changed: status == events.Changed}
		return s.record(t, h, events.RunStart{Plays: plays("web1")}, events.PlayStart{Play: "web tier", Number: 1, Batch: 1, Hosts: []string{"web1"}}, result, events.HostDone{Host: "web1"},
			events.PlayStart{Play: "second", Number: 2, Batch: 1, Hosts: []string{"web1"}}, events.HostDone{Host: "web1"}, events.Summary{})
	}
	first := run(0, Header{}, events.Changed)
	second := run(1, Header{Resumes: timeID(0), Origin: Origin{First: timeID(0), Epoch: 1}}, events.Stable)
	p, err := second.Progress(s)
	require.NoError(t, err)
	require.True(t, p.Plays[0].Done["web1"])

	undo := run(2, Header{Undoes: timeID(0)}, events.Changed)
	for _, r := range []*Run{first, second} {
		by, err := s.UndoneBy(r)
		require.NoError(t, err)
		require.NotNil(t, by)
		require.Equal(t, undo.Run, by.Run)
		p, err = r.Progress(s)
		require.NoError(t, err)
		require.False(t, p.Plays[0].Done["web1"])
	}

	// An undo that found nothing to change is one, too, unless it failed.
	lone := run(4, Header{}, events.Changed)
	again := s.record(t, Header{Run: timeID(5), Undoes: timeID(4)}, events.RunStart{Plays: plays("web1")}, events.Summary{Totals: events.Totals{Hosts: events.HostTotals{Failed: 1}}})
	by, err := s.UndoneBy(lone)
	require.NoError(t, err)
	require.Nil(t, by, again.Outcome())
	s.record(t, Header{Run: timeID(6), Undoes: timeID(4)}, events.RunStart{Plays: plays("web1")}, events.Summary{Totals: events.Totals{Hosts: events.HostTotals{OK: 1}}})
	by, err = s.UndoneBy(lone)
	require.NoError(t, err)
	require.NotNil(t, by)

	third := run(3, Header{Resumes: timeID(1), Origin: Origin{First: timeID(0), Epoch: 2}}, events.Changed)
	by, err = s.UndoneBy(third)
	require.NoError(t, err)
	require.Nil(t, by)
	p, err = third.Progress(s)
	require.NoError(t, err)
	require.True(t, p.Plays[0].Done["web1"])
}

// TestUndoneInPart holds that an undo of a part leaves the rest: a command that it does not name does not run again,
// and undoing that undo in part leaves it in effect.
func TestUndoneInPart(t *testing.T) {
	s := newStore(t)
	result := func(typ, name, once string) events.Result {
		return events.Result{Play: "web tier", Host: "web1", Type: typ, Name: name, Once: once, Status: events.Changed, Changed: true}
	}
	run := func(n int, h Header, results ...events.Event) *Run {
		h.Run = timeID(n)
		all := []events.Event{events.RunStart{Plays: plays("web1")}, events.PlayStart{Play: "web tier", Number: 1, Batch: 1, Hosts: []string{"web1"}}}
		return s.record(t, h, append(append(all, results...), events.HostDone{Host: "web1", State: events.StateOK}, events.Summary{Totals: events.Totals{Hosts: events.HostTotals{OK: 1}}})...)
	}
	r := run(0, Header{Manifests: []Manifest{{Path: "site.yaml"}}}, result("exec", "migrate", ""), result("file", "/a", ""), result("exec", "seed", "exec#seed"))
	undo := run(1, Header{Undoes: r.Run, UndoesOnly: []string{"file#/a"}}, result("file", "/a", ""))
	require.True(t, undo.Partial())
	p, err := r.Progress(s)
	require.NoError(t, err)
	require.False(t, p.Plays[0].Done["web1"])
	require.Equal(t, r.Run, p.Plays[0].LeftOn("web1")[ResourceName{"exec", "migrate"}])
	require.Empty(t, p.Plays[0].LeftOn("web1")[ResourceName{"file", "/a"}])
	_, ran := p.Plays[0].RanOnce("web1", "exec#seed")
	require.True(t, ran)

	run(2, Header{Undoes: undo.Run, UndoesOnly: []string{"file#/b"}}, result("file", "/b", ""))
	by, err := s.UndoneBy(r)
	require.NoError(t, err)
	require.NotNil(t, by, "only a part of the undo was undone")
	require.Equal(t, undo.Run, by.Run)
}
