package playbooks

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// recordedRun runs the plays of a world and records that. It returns the record and the recap.
func (w *world) recordedRun(t *testing.T, store record.Store, stop <-chan struct{}) (*record.Run, events.Summary, string) {
	t.Helper()
	w.Options.Run, w.Tally = record.NewID(time.Now()), &events.Tally{}
	var text bytes.Buffer
	h := record.Header{Run: w.Options.Run, Command: "apply", What: "site.yaml", Started: time.Now()}
	w.Events = events.NewStream(w.Options.Run, time.Now, w.Tally, w.recorded,
		store.Recorder(h, func(text string) { t.Error(text) }), events.NewText(&text, events.TextOptions{}))
	w.recorded.reset()
	summary, err := w.Run(t.Context(), stop)
	require.NoError(t, err)
	run, err := store.Find(w.Options.Run)
	require.NoError(t, err)
	return run, summary, text.String()
}

// parse replaces the plays of a world.
func (w *world) parse(t *testing.T, text string) {
	t.Helper()
	list, err := load.Parse(t.Context(), filepath.Join(w.dir, "site.yaml"), []byte(text), builtin.Types())
	require.NoError(t, err)
	w.Plays = list
}

// TestHostsThatMissAPlay has the run end in the second play: hosts that did not get that play
// are incomplete, and a host that it is not for is ok.
func TestHostsThatMissAPlay(t *testing.T) {
	w := newWorld(t, servers(t, "db1", "web1", "web2", "web3"), `
- {name: first, hosts: all, ccm: {resources: [{exec: [{"true": {}}]}]}}
- {name: second, hosts: "web*", serial: 1, max_fail_percentage: 0, ccm: {resources: [{exec: [{"false": {}}]}]}}
`)
	store := record.Store{Folder: filepath.Join(t.TempDir(), "runs")}
	run, summary, text := w.recordedRun(t, store, nil)
	require.Equal(t, events.HostTotals{OK: 1, Failed: 1, Incomplete: 2}, summary.Totals.Hosts)
	require.Contains(t, text, `web2: 1 changed, 0 stable (incomplete: play "second" not run, `)
	require.Contains(t, text, "4 hosts: 1 ok, 1 failed, 2 incomplete; ")
	for state, want := range map[string][]string{"ok": {"db1"}, "failed": {"web1"}, "incomplete": {"web2", "web3"}, "notstarted": nil} {
		got, err := run.Hosts(state)
		require.NoError(t, err)
		require.Equal(t, want, got, state)
	}

	// The run that resumes it has nothing to do for db1: it is not started there, and not ok either.
	progress, err := run.Progress(store)
	require.NoError(t, err)
	w.parse(t, `
- {name: first, hosts: all, ccm: {resources: [{exec: [{"true": {}}]}]}}
- {name: second, hosts: "web*", ccm: {resources: [{exec: [{"true": {}}]}]}}
`)
	w.Options.Progress = progress.For([]string{"first", "second"})
	resumed, summary, _ := w.recordedRun(t, store, nil)
	require.Equal(t, events.HostTotals{OK: 3}, summary.Totals.Hosts)
	require.Empty(t, summary.PlaysNotRun, "an earlier run has finished the first play")
	for state, want := range map[string][]string{"ok": {"web1", "web2", "web3"}, "incomplete": nil, "notstarted": nil} {
		got, err := resumed.Hosts(state)
		require.NoError(t, err)
		require.Equal(t, want, got, state)
	}
}

// TestPlayEnds runs random plays with random failures: the recap, the record and resume agree
// with the results of each host in each play.
func TestPlayEnds(t *testing.T) {
	seeds := 30
	if testing.Short() {
		seeds = 10
	}
	names := []string{"web1", "web2", "web3", "web4"}
	hosts := servers(t, names...)
	hosts["web4"] = sshtest.Start(t, sshtest.RejectAuth())
	w := newWorld(t, hosts, plays)
	store := record.Store{Folder: filepath.Join(t.TempDir(), "runs")}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			some := func() (list []string) {
				for _, name := range names {
					if r.IntN(3) > 0 && (name != "web4" || r.IntN(3) == 0) {
						list = append(list, name)
					}
				}
				if len(list) == 0 {
					list = names[:1]
				}
				return list
			}
			meant, resources := map[string][]string{}, map[string]int{} // hosts and resources, by play
			var text strings.Builder
			for n := range 1 + r.IntN(4) {
				play := fmt.Sprint("play", n+1)
				meant[play], resources[play] = some(), 1
				fmt.Fprintf(&text, "- name: %s\n  hosts: %q\n", play, strings.Join(meant[play], ","))
				for _, line := range []string{"serial: 1", "serial: [1, 2]", "any_errors_fatal: true", "max_fail_percentage: 50"} {
					if r.IntN(3) == 0 && !strings.Contains(text.String()[strings.LastIndex(text.String(), "- name"):], line[:5]) {
						fmt.Fprintf(&text, "  %s\n", line)
					}
				}
				text.WriteString("  ccm:\n    resources:\n      - exec:\n          - \"true\": {}\n")
				for _, name := range names {
					if r.IntN(5) == 0 {
						fmt.Fprintf(&text, "          - \"test {{ Host.name }} != %s\": {}\n", name)
						resources[play]++
					}
				}
			}
			w.parse(t, text.String())
			var stop chan struct{}
			w.recorded.watch = nil
			if after := r.IntN(12); r.IntN(2) == 0 {
				stop = make(chan struct{})
				w.recorded.watch = func(e events.Event) {
					if _, ok := e.(events.Result); ok {
						if after--; after == 0 {
							close(stop)
						}
					}
				}
			}
			run, summary, recap := w.recordedRun(t, store, stop)
			t.Logf("%s\n%s", text.String(), recap)
			w.checkPlayEnds(t, meant, resources, run, summary)

			progress, err := run.Progress(store)
			require.NoError(t, err)
			table, err := run.PlayTable()
			require.NoError(t, err)
			complete := true
			for i, play := range w.Plays {
				for _, host := range meant[play.Name] {
					ok := table.Ends[host][i] == events.StateOK
					require.Equal(t, ok, progress.Plays[i].Done[host], "%s on %s", play.Name, host)
					complete = complete && ok
				}
			}
			require.Equal(t, complete, progress.Complete())
			require.Equal(t, complete, summary.ExitStatus(false) == 0 && !summary.Interrupted || complete)
			if !complete {
				require.True(t, summary.Interrupted || summary.ExitStatus(false) != 0, "the status of an incomplete run")
			}
			if n := summary.Totals.Hosts.Incomplete; n > 0 {
				require.Contains(t, recap, fmt.Sprintf("%d incomplete", n))
			}
		})
	}
}

// checkPlayEnds compares the reported ends of hosts and plays with the results of the run.
func (w *world) checkPlayEnds(t *testing.T, meant map[string][]string, resources map[string]int, run *record.Run, summary events.Summary) {
	t.Helper()
	results, trouble := map[string]int{}, map[string]events.State{} // by host and play
	var done []events.HostDone
	interrupted := map[string]bool{} // hosts, and hosts in plays
	for _, e := range w.recorded.list {
		switch e := e.(type) {
		case events.Result:
			at := e.Host + " " + e.Play
			if results[at]++; e.Status == events.Failed {
				trouble[at] = events.StateFailed
			}
		case events.Unreachable:
			trouble[e.Host+" "+e.Play] = events.StateUnreachable
		case events.HostFailed:
			trouble[e.Host+" "+e.Play] = events.StateFailed
		case events.Interrupted:
			interrupted[e.Host], interrupted[e.Host+" "+e.Play] = true, true
		case events.HostDone:
			done = append(done, e)
		}
	}
	table, err := run.PlayTable()
	require.NoError(t, err)
	classes := map[events.State][]string{}
	for _, host := range table.Hosts {
		var ends []events.PlayEnd
		class, begun := events.StateOK, false
		for i, play := range w.Plays {
			if !slices.Contains(meant[play.Name], host) {
				require.Equal(t, record.NotMeant, table.Ends[host][i])
				continue
			}
			at := host + " " + play.Name
			how := trouble[at]
			switch n := results[at]; {
			case how == "" && n == resources[play.Name]:
				how = events.StateOK
			case n > 0 && n < resources[play.Name]:
				how = events.StateInterrupted
			case how == "" && interrupted[at] && table.Ends[host][i] == events.StateInterrupted:
				how = events.StateInterrupted // in it, and before its first resource
			case how == "":
				how = events.StateNotStarted
			}
			require.Equal(t, how, table.Ends[host][i], "%s in %s", host, play.Name)
			ends = append(ends, events.PlayEnd{Number: i + 1, State: how})
			begun = begun || how != events.StateNotStarted
			switch {
			case class != events.StateOK && class != events.StateIncomplete:
			case trouble[at] != "":
				class = trouble[at]
			case interrupted[host]:
				class = events.StateInterrupted
			case how == events.StateNotStarted:
				class = events.StateIncomplete
			}
		}
		if !begun {
			class = events.StateNotStarted
		}
		classes[class] = append(classes[class], host)
		i := slices.IndexFunc(done, func(e events.HostDone) bool { return e.Host == host })
		if !begun {
			require.Negative(t, i, host)
			require.Contains(t, summary.NotStarted, host)
			continue
		}
		require.Equal(t, ends, done[i].Plays, host)
		require.Equal(t, class, done[i].State, host)
		require.Equal(t, class, summary.Hosts[host].State, host)
	}
	count := func(s events.State) int { return len(classes[s]) }
	require.Equal(t, events.HostTotals{
		OK: count(events.StateOK), Failed: count(events.StateFailed), Unreachable: count(events.StateUnreachable),
		Interrupted: count(events.StateInterrupted), Incomplete: count(events.StateIncomplete), NotStarted: count(events.StateNotStarted),
	}, summary.Totals.Hosts)
	for state, class := range map[string]events.State{
		"ok": events.StateOK, "failed": events.StateFailed, "unreachable": events.StateUnreachable,
		"interrupted": events.StateInterrupted, "incomplete": events.StateIncomplete, "notstarted": events.StateNotStarted,
	} {
		got, err := run.Hosts(state)
		require.NoError(t, err)
		require.Equal(t, classes[class], got, state)
	}
}
