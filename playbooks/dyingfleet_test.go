package playbooks

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// dyingSite is the manifest of each host of a dying fleet.
const dyingSite = `
- name: site
  ccm:
    resources:
      - file:
          - "{{ Data.home }}/one": {content: "one", OWNED, mode: "0644"}
      - exec:
          - "echo two >> {{ Data.home }}/ran": {provider: shell}
      - file:
          - "{{ Data.home }}/three": {content: "three", OWNED, mode: "0644"}
      - exec:
          - "echo four >> {{ Data.home }}/ran": {provider: shell, refreshonly: true, subscribe: ["file#{{ Data.home }}/three"]}
`

// fleetOf starts so many hosts.
func fleetOf(t *testing.T, n int) map[string]*sshtest.Server {
	t.Helper()
	hosts := map[string]*sshtest.Server{}
	for i := range n {
		hosts[fmt.Sprintf("web%03d", i)] = sshtest.Start(t, sshtest.Outlive())
	}
	return hosts
}

// TestDyingFleet runs over 200 hosts. A tenth of them die at random moments, half of these for good. Each host has one
// outcome, the totals match the results, and the record shows the course of the run. CCM_SEED chooses one seed.
func TestDyingFleet(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	seeds := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	if text := os.Getenv("CCM_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		seeds = []uint64{seed}
	} else if testing.Short() {
		first := rand.IntN(len(seeds) - 1)
		seeds = seeds[first : first+2]
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { dyingFleet(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func dyingFleet(t *testing.T, random *rand.Rand) {
	const n = 200
	hosts := fleetOf(t, n)
	w := newWorld(t, hosts, strings.ReplaceAll(dyingSite, "OWNED", fmt.Sprintf(`owner: "%d", group: "%d"`, os.Getuid(), os.Getgid())))
	w.Options.NoLock, w.Options.LockTimeout, w.Options.Reconnect, w.Options.Forks = false, time.Minute, 10*time.Second, 32
	w.Options.Run = record.NewID(time.Now())
	state := t.TempDir()
	store, err := record.In(func(string) string { return state })
	require.NoError(t, err)
	recorder := store.Recorder(record.Header{Run: w.Options.Run, Started: time.Now()}, func(text string) { t.Error(text) })
	w.Events = events.NewStream(w.Options.Run, time.Now, w.Tally, w.recorded, events.NewText(w.text, events.TextOptions{Verbose: 1}), recorder)

	// A host dies after a number of results.
	type moment struct {
		host    string
		results int
	}
	dies := map[moment]func(){}
	var dying sync.WaitGroup
	mayFail := map[string]bool{} // hosts that die for good, or before there is a catalog to continue
	for i, host := range random.Perm(n)[:n/10] {
		name := fmt.Sprintf("web%03d", host)
		die := hosts[name].Cut
		if i%2 == 0 {
			mayFail[name] = true
			die = func() { hosts[name].Close() }
		}
		after, early := random.IntN(4), time.Duration(random.IntN(1000))*time.Millisecond
		if after == 0 { // as it is dialled, say, or before
			mayFail[name] = true
			dying.Go(func() {
				time.Sleep(early)
				die()
			})
		}
		dies[moment{name, after}] = die
	}
	count := map[string]int{}
	w.recorded.watch = func(e events.Event) {
		if r, is := e.(events.Result); is {
			count[r.Host]++
			if die := dies[moment{r.Host, count[r.Host]}]; die != nil {
				dying.Go(die)
			}
		}
	}
	summary, err := w.Run(t.Context(), nil)
	require.NoError(t, err)
	dying.Wait()

	results, outcomes, told := map[string]int{}, map[string]int{}, 0
	for _, e := range w.recorded.list {
		switch e := e.(type) {
		case events.Result:
			results[e.Host]++
			told++
		case events.HostDone:
			outcomes[e.Host]++
			require.Equal(t, summary.Hosts[e.Host].Counts, e.Counts)
			require.Equal(t, summary.Hosts[e.Host].State, e.State)
		}
	}
	require.Len(t, summary.Hosts, n)
	require.Len(t, outcomes, n)
	states := map[events.State]int{}
	for host, one := range summary.Hosts {
		states[one.State]++
		require.Equal(t, 1, outcomes[host], host)
		require.Equal(t, results[host], one.Sum(), host)
		if one.State == "ok" {
			require.Equal(t, 4, one.Sum(), host)
		} else {
			require.True(t, mayFail[host], "%s is well: %s", host, w.text)
		}
	}
	totals := summary.Totals
	require.Equal(t, told, totals.Resources.Sum())
	require.Equal(t, n, totals.Hosts.Sum())
	require.Equal(t, states["ok"], totals.Hosts.OK)
	require.Equal(t, states["failed"], totals.Hosts.Failed)
	require.Equal(t, states["unreachable"], totals.Hosts.Unreachable)
	require.Zero(t, totals.Hosts.NotStarted)
	require.GreaterOrEqual(t, totals.Hosts.OK, n-len(mayFail))

	for name, srv := range hosts {
		if summary.Hosts[name].State == "ok" {
			ran, err := os.ReadFile(filepath.Join(srv.Home, "ran"))
			require.NoError(t, err)
			require.Equal(t, "two\nfour\n", string(ran), name)
		}
	}
	run, err := store.Find(w.Options.Run)
	require.NoError(t, err)
	var shown bytes.Buffer
	again := events.NewText(&shown, events.TextOptions{Verbose: 1})
	for e, err := range run.EventsOf("") {
		require.NoError(t, err)
		again.Report(e)
	}
	require.Equal(t, w.text.String(), shown.String())
	recorded, err := run.Totals()
	require.NoError(t, err)
	require.Equal(t, totals, recorded)
	t.Logf("%d ok, %d failed, %d unreachable, %d reconnected", states["ok"], states["failed"], states["unreachable"], strings.Count(w.text.String(), "reconnected"))
}
