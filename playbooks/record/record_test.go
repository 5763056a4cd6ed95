package record

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)

func newStore(t *testing.T) Store { return Store{Folder: filepath.Join(t.TempDir(), "state", "runs")} }

// fleet is a play of some hosts, in batches.
func plays(hosts ...string) []events.SelectedPlay {
	return []events.SelectedPlay{{Name: "web tier", Hosts: hosts}, {Name: "second", Hosts: hosts}}
}

// record records events as a run would, and returns the run.
func (s Store) record(t *testing.T, h Header, all ...events.Event) *Run {
	t.Helper()
	if h.Run == "" {
		h.Run = NewID(began)
	}
	h.Started = began
	stream := events.NewStream(h.Run, func() time.Time { return began }, s.Recorder(h, func(text string) { t.Error(text) }))
	stream.Report(all...)
	stream.Sync()
	t.Cleanup(func() { runtime.KeepAlive(stream) }) // its lock marks the run as in progress
	r, err := s.Find(h.Run)
	require.NoError(t, err)
	return r
}

func result(host string, status events.Status) events.Result {
	return events.Result{Play: "web tier", Host: host, Type: "file", Name: "/etc/motd", Status: status, Certain: true}
}

func TestID(t *testing.T) {
	a, b, later := NewID(began), NewID(began), NewID(began.Add(time.Millisecond))
	require.NotEqual(t, a, b)
	require.Equal(t, a[:10], b[:10])
	require.Less(t, a, later)
	for _, id := range []string{a, b, later} {
		require.True(t, IsID(id), id)
	}
	// The times are from the specification's examples.
	require.Equal(t, "01ARYZ6S41", NewID(time.UnixMilli(1469918176385))[:10])
	require.Equal(t, "7ZZZZZZZZZ", NewID(time.UnixMilli(1<<48 - 1))[:10])
	for _, text := range []string{"", "last", strings.Repeat("8", 26), strings.Repeat("U", 26), a[:25]} {
		require.False(t, IsID(text), text)
	}
}

// TestEveryByte checks that a run can be read wherever its controller was killed: complete lines are there, and the run
// counts as killed.
func TestEveryByte(t *testing.T) {
	s := newStore(t)
	r := s.record(t, Header{What: "site.yaml"},
		events.RunStart{Hosts: 2, Plays: plays("web1", "web2")},
		events.PlayStart{Play: "web tier", Number: 1, Batch: 1, Batches: 1, Hosts: []string{"web1", "web2"}},
		result("web1", events.Changed), result("web2", events.Stable),
	)
	text, err := os.ReadFile(filepath.Join(r.folder, eventsFile))
	require.NoError(t, err)
	killed := newStore(t)
	require.NoError(t, killed.make())
	folder := filepath.Join(killed.Folder, r.Header.Run)
	require.NoError(t, os.CopyFS(folder, os.DirFS(r.folder)))
	for n := range len(text) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, eventsFile), text[:n], 0o600))
		runs, err := killed.List()
		require.NoError(t, err)
		require.Len(t, runs, 1)
		require.Equal(t, Killed, runs[0].Outcome())
		count := 0
		for _, err := range runs[0].Events() {
			require.NoError(t, err)
			count++
		}
		require.Equal(t, strings.Count(string(text[:n]), "\n"), count)
		_, err = runs[0].Progress(killed)
		require.NoError(t, err)
	}
	// The header appears whole or not at all.
	require.NoError(t, os.Rename(filepath.Join(folder, headerFile), filepath.Join(folder, headerFile+".new")))
	runs, err := killed.List()
	require.NoError(t, err)
	require.Empty(t, runs)
}

func TestOutcomes(t *testing.T) {
	start := events.RunStart{Hosts: 1, Plays: plays("web1")}
	host := func(h events.HostTotals) events.Summary { return events.Summary{Totals: events.Totals{Hosts: h}} }
	for _, tt := range []struct {
		want Outcome
		last events.Event
	}{
		{Running, result("web1", events.Stable)},
		{OK, host(events.HostTotals{OK: 1})},
		{Failed, host(events.HostTotals{Failed: 1, Unreachable: 1})},
		{Unreachable, host(events.HostTotals{Unreachable: 1})},
		{Incomplete, host(events.HostTotals{OK: 1, NotStarted: 1})},
		{Interrupted, events.Summary{Interrupted: true}},
	} {
		t.Run(string(tt.want), func(t *testing.T) {
			require.Equal(t, tt.want, newStore(t).record(t, Header{}, start, tt.last).Outcome())
		})
	}
}

func TestFind(t *testing.T) {
	s := newStore(t)
	_, err := s.Find("last")
	require.ErrorIs(t, err, ErrNone)
	for _, id := range []string{"01M843PF72P61R1TBNZ2E5J0Z3", "01M843PFA8B1Z764Q8H3ZZKVWQ", "01M943PFA8B1Z764Q8H3ZZKVZZ"} {
		s.record(t, Header{Run: id}, events.RunStart{})
	}
	require.NoError(t, os.Mkdir(filepath.Join(s.Folder, "notes"), 0o700))
	for _, tt := range []struct{ name, want, err string }{
		{name: "last", want: "01M943PFA8B1Z764Q8H3ZZKVZZ"},
		{name: "01M843PF72P61R1TBNZ2E5J0Z3", want: "01M843PF72P61R1TBNZ2E5J0Z3"},
		{name: "01m843pf72p61r1tbnz2e5j0z3", want: "01M843PF72P61R1TBNZ2E5J0Z3"},
		{name: "zkvwq", want: "01M843PFA8B1Z764Q8H3ZZKVWQ"},
		{name: "01M9", want: "01M943PFA8B1Z764Q8H3ZZKVZZ"},
		{name: "01M8", err: "01M8 begins or ends the ids of 2 runs: 01M843PF72P61R1TBNZ2E5J0Z3, 01M843PFA8B1Z764Q8H3ZZKVWQ"},
		{name: "VWQ", err: "no run has the id VWQ\n  hint: ccm-push runs lists all runs; write last, an id, or four or more characters of its beginning or end"},
		{name: "01M843PF72P61R1TBNZ2E5J0Z4", err: "no run has the id 01M843PF72P61R1TBNZ2E5J0Z4"},
		{name: "../../etc", err: "no run has the id ../../etc\n  hint: ccm-push runs lists all runs; write last, an id, or four or more characters of its beginning or end"},
	} {
		r, err := s.Find(tt.name)
		if tt.err != "" {
			require.EqualError(t, err, tt.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tt.want, r.Header.Run)
	}
}

// TestNewerFormat leaves alone, and names, what a newer program has written.
func TestNewerFormat(t *testing.T) {
	s := newStore(t)
	old := s.record(t, Header{Run: "01M843PF72P61R1TBNZ2E5J0Z3"}, events.RunStart{})
	newer := s.record(t, Header{Run: "01M943PFA8B1Z764Q8H3ZZKVZZ", Version: "9.0"}, events.RunStart{})
	path := filepath.Join(newer.folder, headerFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"format": 1`, `"format": 2`, 1)), 0o600))
	var warned []string
	s.Warn = func(text string) { warned = append(warned, text) }
	runs, err := s.List()
	require.NoError(t, err)
	require.Equal(t, []string{"run " + newer.Header.Run + " is skipped: written by a newer ccm-push: " + newer.folder + " has format 2, which only ccm-push 9.0 reads"}, warned)
	gone, err := s.Prune(Limits{Damaged: true, Age: 1}, began, false)
	require.NoError(t, err)
	require.Empty(t, gone)
	require.DirExists(t, newer.folder)
	require.Len(t, runs, 1)
	require.Equal(t, old.Header.Run, runs[0].Header.Run)
}

func TestHosts(t *testing.T) {
	failed := result("web2", events.Failed)
	failed.Changed = true
	unknown := result("web5", events.Rescued)
	unknown.Unknown = true
	r := newStore(t).record(t, Header{},
		events.RunStart{Hosts: 4, Plays: plays("web1", "web2", "web3", "web4", "web5")},
		result("web1", events.Changed), failed, events.Unreachable{Host: "web3"}, events.HostDone{Host: "web1", State: events.StateOK}, result("web5", events.Changed), unknown,
	)
	for state, want := range map[string][]string{
		"ok": {"web1"}, "failed": {"web2"}, "unreachable": {"web3"}, "incomplete": {"web5"}, "notstarted": {"web4"}, "changed": {"web1", "web2", "web5"}, "interrupted": nil, "unknown": {"web5"},
	} {
		hosts, err := r.Hosts(state)
		require.NoError(t, err)
		require.Equal(t, want, hosts, state)
	}
	_, err := r.Hosts("odd")
	require.EqualError(t, err, `"odd" is not a state of a host; use one of ok, failed, unreachable, interrupted, incomplete, changed, notstarted, unknown`)
}

// TestProgressOfARunTakenBack has one of two hosts that are done taken back, and both in a check run.
func TestProgressOfARunTakenBack(t *testing.T) {
	s := newStore(t)
	run := s.record(t, Header{Run: NewID(began)},
		events.RunStart{Hosts: 2, Plays: plays("web1", "web2")[:1]},
		events.PlayStart{Play: "web tier", Number: 1, Batch: 1, Batches: 1, Hosts: []string{"web1", "web2"}},
		result("web1", events.Changed), events.HostDone{Host: "web1", State: events.StateOK},
		result("web2", events.Changed), events.HostDone{Host: "web2", State: events.StateOK},
	)
	done := func() map[string]bool {
		progress, err := run.Progress(s)
		require.NoError(t, err)
		return progress.Plays[0].Done
	}
	require.Equal(t, map[string]bool{"web1": true, "web2": true}, done())
	s.record(t, Header{Run: NewID(began.Add(time.Second)), Undoes: run.Run, Check: true}, events.RunStart{Hosts: 2}, result("web1", events.Changed), result("web2", events.Changed))
	require.Equal(t, map[string]bool{"web1": true, "web2": true}, done())
	s.record(t, Header{Run: NewID(began.Add(2 * time.Second)), Undoes: run.Run}, events.RunStart{Hosts: 2}, result("web1", events.Changed), result("web2", events.Skipped))
	require.Equal(t, map[string]bool{"web2": true}, done())
}

// TestProgressOfWhatRunsOnce checks that the progress has the resources that ran for all hosts of a batch, until they
// are undone.
func TestProgressOfWhatRunsOnce(t *testing.T) {
	s := newStore(t)
	once := func(host, on, name string, status events.Status) events.Result {
		r := result(host, status)
		r.On, r.Name, r.Once = on, host+name, name
		return r
	}
	run := s.record(t, Header{Run: NewID(began)},
		events.RunStart{Hosts: 3, Plays: plays("web1", "web2", "web3")},
		events.PlayStart{Play: "web tier", Number: 1, Batch: 1, Batches: 2, Hosts: []string{"web1", "web2"}},
		once("web1", "", "migrate", events.Changed), result("web1", events.Changed), once("web1", "", "fails", events.Failed), once("web1", "", "excluded", events.Skipped),
		events.PlayStart{Play: "web tier", Number: 1, Batch: 2, Batches: 2, Hosts: []string{"web3"}},
	)
	ran := func(host, name string) string {
		progress, err := run.Progress(s)
		require.NoError(t, err)
		r, ran := progress.Plays[0].RanOnce(host, name)
		if !ran {
			return ""
		}
		return r.Host + " " + string(r.Status)
	}
	require.Equal(t, "web1 changed", ran("web1", "migrate"))
	require.Equal(t, "web1 changed", ran("web2", "migrate"))
	for _, of := range [][2]string{{"web3", "migrate"}, {"web2", "fails"}, {"web2", "excluded"}, {"web2", "/etc/motd"}} {
		require.Empty(t, ran(of[0], of[1]), of)
	}
	s.record(t, Header{Run: NewID(began.Add(time.Second)), Undoes: run.Run}, events.RunStart{Hosts: 1}, result("web1", events.Changed))
	require.Empty(t, ran("web2", "migrate"))
}

// TestRetold checks that repeated results are ignored for hosts that are done, and run again for values that others
// receive.
func TestRetold(t *testing.T) {
	s := newStore(t)
	run := s.record(t, Header{Run: NewID(began)},
		events.RunStart{Hosts: 2, Plays: plays("web1", "web2")},
		events.PlayStart{Play: "web tier", Number: 1, Batch: 1, Batches: 1, Hosts: []string{"web1", "web2"}},
		result("web1", events.Changed), events.HostDone{Host: "web1", State: events.StateOK, PlaysNotRun: 1}, result("web2", events.Changed),
	)
	progress, err := run.Progress(s)
	require.NoError(t, err)
	for _, host := range []string{"web1", "web2"} {
		kept := result(host, events.Changed)
		require.False(t, progress.Retold(0, kept), "%s has changed it again", host)
		kept.Kept = true
		require.False(t, progress.Retold(0, kept), "%s has changed it in this run, and its connection was lost", host)
		kept.Earlier = true
		require.True(t, progress.Retold(0, kept), host)
		require.Equal(t, host == "web1", progress.Retold(0, kept), "%s has told one such result", host)
		require.False(t, progress.Retold(1, kept), "%s has told nothing of another play", host)
	}
}

// TestDiffOfPlays has a resource that two plays have: both of its results count.
func TestDiffOfPlays(t *testing.T) {
	s := newStore(t)
	start := events.RunStart{Hosts: 1, Plays: plays("web1")}
	end := events.HostDone{Host: "web1", State: events.StateOK}
	a := s.record(t, Header{}, start, result("web1", events.Changed), result("web1", events.Stable), end)
	b := s.record(t, Header{}, start, result("web1", events.Stable), result("web1", events.Stable), end)
	all, err := Diff(a, b)
	require.NoError(t, err)
	require.Equal(t, []Difference{{"web1", "file#/etc/motd", "changed", "stable"}}, all)
}

func TestDiff(t *testing.T) {
	s := newStore(t)
	start := events.RunStart{Hosts: 2, Plays: plays("web1", "web2")}
	bad := result("web1", events.Failed)
	bad.Error = "disk full"
	a := s.record(t, Header{}, start, bad, result("web2", events.Stable), events.HostDone{Host: "web2", State: events.StateOK})
	b := s.record(t, Header{}, start, result("web1", events.Changed), result("web2", events.Stable), result("web3", events.Stable),
		events.HostDone{Host: "web1", State: events.StateOK}, events.HostDone{Host: "web2", State: events.StateOK}, events.HostDone{Host: "web3", State: events.StateOK})
	all, err := Diff(a, b)
	require.NoError(t, err)
	require.Equal(t, []Difference{
		{"web1", "", "failed", "ok"},
		{"web1", "file#/etc/motd", "failed: disk full", "changed"},
		{"web3", "", "", "ok"},
		{"web3", "file#/etc/motd", "", "stable"},
	}, all)
}

func TestPrune(t *testing.T) {
	s := newStore(t)
	end := events.Summary{}
	day := 24 * time.Hour
	var ids []string
	for days := range 5 {
		id := NewID(began.Add(time.Duration(days) * day))
		ids = append(ids, id)
		h := Header{Run: id}
		r := s.record(t, h, events.RunStart{}, end)
		h.Started, h.Format = began.Add(time.Duration(days)*day), 1
		require.NoError(t, writeJSON(r.folder, headerFile, h))
	}
	underWay := s.record(t, Header{Run: NewID(began.Add(-day))}, events.RunStart{})
	left := func() (left []string) {
		runs, err := s.List()
		require.NoError(t, err)
		for _, r := range runs {
			left = append(left, r.Header.Run)
		}
		slices.Reverse(left)
		return left
	}
	all := append([]string{underWay.Header.Run}, ids...)
	now := began.Add(4 * day)
	gone, err := s.Prune(Limits{Age: 2 * day}, now, true)
	require.NoError(t, err)
	require.Len(t, gone, 2)
	require.Equal(t, all, left(), "a dry one removes nothing")
	_, err = s.Prune(Limits{Age: 2 * day}, now, false)
	require.NoError(t, err)
	require.Equal(t, slices.Concat(all[:1], ids[2:]), left(), "but no run under way")
	_, err = s.Prune(Limits{Bytes: 1}, now, false)
	require.NoError(t, err)
	require.Equal(t, all[:1], left())
}

// TestClockJumps sets the clock of the controller a day off, either way: each run is found, the last one has the latest
// time, and none is removed too early.
func TestClockJumps(t *testing.T) {
	s := newStore(t)
	day := 24 * time.Hour
	var ids []string
	for _, jump := range []time.Duration{0, day, -day} {
		ids = append(ids, NewID(began.Add(jump)))
		r := s.record(t, Header{Run: ids[len(ids)-1]}, events.RunStart{}, result("web1", events.Changed), events.Summary{})
		h := Header{Run: r.Run, Started: began.Add(jump), Format: 1}
		require.NoError(t, writeJSON(r.folder, headerFile, h))
	}
	for _, now := range []time.Time{began.Add(-day), began, began.Add(day)} {
		gone, err := s.Prune(Limits{Age: 3 * day}, now, false)
		require.NoError(t, err)
		require.Empty(t, gone)
	}
	for _, id := range ids {
		r, err := s.Find(id)
		require.NoError(t, err)
		tally, err := r.Tally()
		require.NoError(t, err)
		require.Equal(t, 1, tally.Summary(false).Totals.Resources.Changed)
	}
	last, err := s.Find("last")
	require.NoError(t, err)
	require.Equal(t, ids[1], last.Run)
}

// TestForeignState writes nothing where another user may have put links.
func TestForeignState(t *testing.T) {
	needs.Root(t, "only root can give a folder away")
	home := t.TempDir()
	require.NoError(t, os.Chown(home, 12345, 12345))
	var told string
	s, err := In(func(name string) string { return map[string]string{"HOME": home}[name] })
	require.NoError(t, err)
	s.Recorder(Header{Run: NewID(began)}, func(text string) { told = text }).Report(events.RunStart{})
	require.Contains(t, told, "belongs to the user with the id 12345, and this is 0")
	entries, err := os.ReadDir(home)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// TestPlantedState plants a link, or a folder, at each place on the way to the record: nothing is made
// or changed where it leads.
func TestPlantedState(t *testing.T) {
	needs.Root(t, "only root can give a folder away")
	const mallory = 12345
	for name, plant := range map[string]func(t *testing.T, state, victim string){
		"a link in the home of another user": func(t *testing.T, state, victim string) {
			require.NoError(t, os.Mkdir(filepath.Join(state, "ccm-push"), 0o755))
			require.NoError(t, os.Symlink(victim, filepath.Join(state, "ccm-push", "runs")))
			require.NoError(t, os.Lchown(filepath.Join(state, "ccm-push", "runs"), mallory, mallory))
			require.NoError(t, os.Chown(filepath.Join(state, "ccm-push"), mallory, mallory))
			require.NoError(t, os.Chown(state, mallory, mallory))
		},
		"a folder of root in the home of another user": func(t *testing.T, state, victim string) {
			require.NoError(t, os.MkdirAll(filepath.Join(state, "ccm-push", "runs"), 0o755))
			require.NoError(t, os.Chown(state, mallory, mallory))
		},
		"a link in a shared folder": func(t *testing.T, state, victim string) {
			require.NoError(t, os.Chmod(state, os.ModeSticky|0o777))
			require.NoError(t, os.Mkdir(filepath.Join(state, "ccm-push"), 0o755))
			require.NoError(t, os.Symlink(victim, filepath.Join(state, "ccm-push", "runs")))
			require.NoError(t, os.Lchown(filepath.Join(state, "ccm-push", "runs"), mallory, mallory))
			require.NoError(t, os.Chown(filepath.Join(state, "ccm-push"), mallory, mallory))
		},
		"a link to a folder, in a shared folder": func(t *testing.T, state, victim string) {
			require.NoError(t, os.Chmod(state, os.ModeSticky|0o777))
			require.NoError(t, os.Symlink(victim, filepath.Join(state, "ccm-push")))
			require.NoError(t, os.Lchown(filepath.Join(state, "ccm-push"), mallory, mallory))
		},
		"a shared folder that is not sticky": func(t *testing.T, state, victim string) {
			require.NoError(t, os.Chmod(state, 0o777))
		},
		"a folder of the other user's own, by a link": func(t *testing.T, state, victim string) {
			require.NoError(t, os.Chown(victim, mallory, mallory))
			require.NoError(t, os.Chmod(state, os.ModeSticky|0o777))
			require.NoError(t, os.Symlink(victim, filepath.Join(state, "ccm-push")))
			require.NoError(t, os.Lchown(filepath.Join(state, "ccm-push"), mallory, mallory))
		},
	} {
		t.Run(name, func(t *testing.T) {
			state, victim := t.TempDir(), t.TempDir()
			require.NoError(t, os.Chmod(victim, 0o755))
			plant(t, state, victim)
			s, err := In(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] })
			require.NoError(t, err)
			var told string
			s.Recorder(Header{Run: NewID(began)}, func(text string) { told = text }).Report(events.RunStart{})
			require.NotEmpty(t, told)
			info, err := os.Stat(victim)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
			entries, err := os.ReadDir(victim)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// TestFullDisk ends the record with one warning, and nothing else.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("NOT TESTED: there is no /dev/full here")
	}
	s := newStore(t)
	var told []string
	r := s.Recorder(Header{Run: NewID(began)}, func(text string) { told = append(told, text) })
	r.Report(events.RunStart{})
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, r.file.file.Close())
	r.file.file = full
	for range 3 {
		r.Report(result("web1", events.Stable))
		r.Sync()
	}
	r.Report(events.Summary{})
	require.Equal(t, []string{"the record of this run ends here: write /dev/full: no space left on device"}, told)
}

// TestProgress runs random fleets that are killed at a random event and resumed until they
// are complete. A host counts as done with a play only if it came through well, and once all
// is done every host has come through every play.
func TestProgress(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 16))
			s := newStore(t)
			world := newWorld(random)
			var last *Run
			for range 200 {
				var p *Progress
				h := Header{Run: NewID(began)}
				if last != nil {
					var err error
					p, err = last.Progress(s)
					require.NoError(t, err)
					for i, play := range p.Plays {
						for host := range play.Done {
							require.True(t, world.through[i][host], "%s is not through play %d", host, i)
						}
					}
					if p.Complete() {
						return
					}
					h.Resumes = last.Header.Run
				}
				last = s.record(t, h, world.run(p)...)
			}
			require.Fail(t, "it never got to the end")
		})
	}
}

// A world is a fleet of hosts that fail, now and then.
type world struct {
	random  *rand.Rand
	plays   []events.SelectedPlay
	through []map[string]bool // hosts that came through each play well
}

func newWorld(random *rand.Rand) *world {
	w := &world{random: random}
	var hosts []string
	for i := range 1 + random.IntN(5) {
		hosts = append(hosts, fmt.Sprint("web", i))
	}
	for i := range 1 + random.IntN(3) {
		w.plays = append(w.plays, events.SelectedPlay{Name: fmt.Sprint("play", i), Hosts: hosts[:1+random.IntN(len(hosts))]})
		w.through = append(w.through, map[string]bool{})
	}
	return w
}

// run returns the events of a run up to where it is killed.
func (w *world) run(p *Progress) []events.Event {
	all := []events.Event{events.RunStart{Plays: w.plays}}
	failed := map[string]bool{}
	remaining := map[string]int{} // plays of each host
	done := func(play int, host string) bool { return p != nil && p.Plays[play].Done[host] }
	for i, play := range w.plays {
		for _, host := range play.Hosts {
			if !done(i, host) {
				remaining[host]++
			}
		}
	}
	hostDone := func(host string) {
		state := events.StateOK
		if failed[host] {
			state = events.StateFailed
		}
		all = append(all, events.HostDone{Host: host, State: state, PlaysNotRun: remaining[host]})
	}
	kill := w.random.IntN(40)
	for i, play := range w.plays {
		for number, host := range play.Hosts { // a batch each
			if failed[host] || done(i, host) {
				continue
			}
			all = append(all, events.PlayStart{Play: play.Name, Number: i + 1, Batch: number + 1, Batches: len(play.Hosts), Hosts: []string{host}})
			if kill--; kill < 0 {
				return all
			}
			remaining[host]--
			if failed[host] = w.random.IntN(5) == 0; failed[host] {
				all = append(all, events.HostFailed{Play: play.Name, Host: host, Phase: "lost"})
			} else {
				w.through[i][host] = true
			}
			if failed[host] || remaining[host] == 0 {
				hostDone(host)
			}
		}
	}
	return append(all, events.Summary{})
}

// TestRetoldOfUntold has a host report what an earlier run of the chain could not report, and keep it as a result, too.
func TestRetoldOfUntold(t *testing.T) {
	s := newStore(t)
	run := s.record(t, Header{Run: NewID(began)},
		events.RunStart{Hosts: 1, Plays: plays("web1")}, events.PlayStart{Play: "web tier", Number: 1, Batch: 1, Batches: 1, Hosts: []string{"web1"}})
	progress, err := run.Progress(s)
	require.NoError(t, err)
	progress = progress.For([]string{"web tier"})
	kept := result("web1", events.Changed)
	kept.Kept, kept.Earlier = true, true
	untold := events.Untold{Host: "web1", Earlier: NewID(began), Results: []events.UntoldResult{{Type: kept.Type, Name: kept.Name, Status: kept.Status}}}
	progress.Untold(untold)
	require.False(t, progress.Retold(0, kept), "it is of a run of others")
	untold.Earlier = run.Run
	progress.Untold(untold)
	require.True(t, progress.Retold(0, kept))
	require.False(t, progress.Retold(0, kept), "each counts once")
	untold.Host, untold.For = "db1", "web1"
	progress.Untold(untold)
	require.True(t, progress.Retold(0, kept), "it ran on another host")
	(*Progress)(nil).Untold(untold)
}
