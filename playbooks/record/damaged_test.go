package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestDamagedHeader holds that a record which cannot be read affects itself alone: the others are found,
// it is warned of, and prune removes it.
func TestDamagedHeader(t *testing.T) {
	for _, tt := range []struct {
		name, text string
	}{
		{"empty", ""},
		{"cut off", `{"format": 1, "run": "01M8`},
		{"zeros", "\x00\x00\x00\x00"},
		{"of nothing", "{}"},
		{"null", "null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			var warned []string
			s.Warn = func(text string) { warned = append(warned, text) }
			good := s.record(t, Header{Run: NewID(began)}, events.RunStart{Plays: plays("web1")}, events.Summary{})
			bad := s.record(t, Header{Run: NewID(began.Add(time.Second))}, events.RunStart{Plays: plays("web1")}, events.Summary{})
			require.NoError(t, os.WriteFile(filepath.Join(bad.folder, headerFile), []byte(tt.text), 0o600))

			last, err := s.Find("last")
			require.NoError(t, err)
			require.Equal(t, good.Header.Run, last.Header.Run)
			require.Len(t, warned, 1)
			require.Contains(t, warned[0], "run "+bad.Header.Run+" is skipped, because its record is damaged: ")
			require.Contains(t, warned[0], "hint: ccm-push runs prune removes damaged records")
			_, err = last.Progress(s)
			require.NoError(t, err)
			_, err = s.Next(last)
			require.NoError(t, err)
			_, _, err = s.Past("web1", "file", "/etc/motd")
			require.NoError(t, err)

			gone, err := s.Prune(Limits{}, began.Add(time.Minute), false)
			require.NoError(t, err)
			require.Empty(t, gone, "the daily pruning leaves it until it is old")
			gone, err = s.Prune(Limits{Damaged: true}, began.Add(time.Minute), true)
			require.NoError(t, err)
			require.Len(t, gone, 1)
			require.DirExists(t, bad.folder)
			gone, err = s.Prune(Limits{Damaged: true}, began.Add(time.Minute), false)
			require.NoError(t, err)
			require.Equal(t, bad.Header.Run, gone[0].Run)
			require.NoDirExists(t, bad.folder)
			require.DirExists(t, good.folder)
		})
	}
}

// TestHeaderless holds that prune removes runs without a header, which a loss of power leaves, but
// none that begins just now.
func TestHeaderless(t *testing.T) {
	s := newStore(t)
	r := s.record(t, Header{Run: NewID(began)}, events.RunStart{}, events.Summary{})
	require.NoError(t, os.Remove(filepath.Join(r.folder, headerFile)))
	for after, want := range map[time.Duration]int{time.Minute: 0, 2 * time.Hour: 1} {
		gone, err := s.Prune(Limits{Damaged: true}, began.Add(after), true)
		require.NoError(t, err)
		require.Len(t, gone, want, after)
	}
}

// TestDamagedEnd holds that the end of a run is read from its events if end.json is damaged.
func TestDamagedEnd(t *testing.T) {
	s := newStore(t)
	r := s.record(t, Header{}, events.RunStart{Plays: plays("web1")}, result("web1", events.Failed),
		events.Summary{Totals: events.Totals{Hosts: events.HostTotals{Failed: 1}}})
	require.NoError(t, os.WriteFile(filepath.Join(r.folder, endFile), nil, 0o600))
	again, err := s.Find(r.Header.Run)
	require.NoError(t, err)
	require.Equal(t, Failed, again.Outcome())
}

// TestDamagedLine checks that the remaining events are used for everything that is safe: hosts are queried for what may
// have been lost.
func TestDamagedLine(t *testing.T) {
	s := newStore(t)
	hosts := []string{"web1", "web2", "web3"}
	changed := result("web1", events.Changed)
	changed.Changed = true
	r := s.record(t, Header{},
		events.RunStart{Hosts: 3, Plays: plays(hosts...)},
		events.PlayStart{Play: "web tier", Number: 1, Batch: 1, Batches: 1, Hosts: hosts},
		changed, result("web2", events.Failed), result("web3", events.Stable),
		events.PlayStart{Play: "second", Number: 2, Batch: 1, Batches: 1, Hosts: hosts},
		events.HostDone{Host: "web1", State: events.StateOK, PlaysNotRun: 1},
		events.HostDone{Host: "web3", State: events.StateOK},
	)
	path := filepath.Join(r.folder, eventsFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	write := func(lines [][]byte) { require.NoError(t, os.WriteFile(path, bytes.Join(lines, nil), 0o600)) }

	p, err := r.Progress(s)
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"web1": true, "web3": true}, p.Plays[0].Done)
	undo, err := r.Undo(nil)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"web1", "web2"}, undo[0].Undo.Hosts)
	require.Equal(t, map[string]bool{"web1": true}, undo[0].Undo.Changed)

	for n := 1; n < len(lines)-1; n++ {
		var warned []string
		r.warn = func(text string) { warned = append(warned, text) }
		damaged := slices.Clone(lines)
		damaged[n] = []byte(`{"kind":"res` + "\x00\n")
		write(damaged)
		count := 0
		for _, err := range r.Events() {
			require.NoError(t, err)
			count++
		}
		require.Equal(t, len(lines)-2, count)
		require.Len(t, warned, 1)
		require.True(t, strings.HasPrefix(warned[0], "run "+r.Header.Run+": 1 unreadable line(s) in its record are ignored, the first is "+path), warned[0])

		p, err := r.Progress(s)
		require.NoError(t, err)
		require.NotContains(t, p.Plays[0].Done, "web2", "line %d: whose failure may be what is missing", n+1)
		undo, err := r.Undo(nil)
		require.NoError(t, err)
		require.ElementsMatch(t, hosts, undo[0].Undo.Hosts, "line %d: all hosts are asked", n+1)
		require.Equal(t, n != 2, undo[0].Undo.Changed["web1"])
	}
}

// TestSettle holds that what a host may forget is on the disk: many waiting hosts share one sync, and a
// record that has broken keeps nothing for them.
func TestSettle(t *testing.T) {
	s := newStore(t)
	r := s.Recorder(Header{Run: NewID(began)}, func(string) {})
	require.NoError(t, r.Settle(), "there is no record")
	r.Report(events.RunStart{})
	r.Report(result("web1", events.Changed))
	require.NoError(t, r.Settle())
	require.Equal(t, r.file.written, r.file.settled)
	require.Positive(t, r.file.settled)
	r.Report(result("web2", events.Changed))
	require.NoError(t, r.file.file.Close()) // the disk has gone
	require.Error(t, r.Settle())
	require.Error(t, r.Settle(), "nor does it keep what comes later")
	stream := events.NewStream("", func() time.Time { return began }, r)
	require.False(t, stream.Sync())
	require.True(t, errors.Is(r.broken, os.ErrClosed), r.broken)
}
