//go:build e2e

package e2e

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/start"
)

// Limits of the controller's memory for one host: while it is connected and in the middle of its catalog, and when it
// is done.
const (
	maxConnected = 160 << 10 // bytes
	maxWatched   = 130 << 10 // bytes: it is watched, and idle
	maxFinished  = 3 << 10   // bytes: its counts, for the summary, and its share of common data and of hosts in progress
)

// TestMemoryPerHost has a thousand simulated hosts connected at once, all of them in the middle of W30, and measures
// the live memory of the controller then.
func TestMemoryPerHost(t *testing.T) {
	const hosts = 1000
	m := newMemoryWatch(t, hosts, "-hold")
	m.run(hosts)
	per := (m.connected - m.before) / hosts
	t.Logf("%d bytes for each host that is connected", per)
	require.Less(t, per, int64(maxConnected))
}

// TestMemoryOfFinishedHosts measures the live memory when almost all hosts are done.
func TestMemoryOfFinishedHosts(t *testing.T) {
	const hosts = 2000
	m := newMemoryWatch(t, hosts)
	m.run(32)
	per := (m.finished - m.before) / hosts
	t.Logf("%d bytes for each host that is done", per)
	require.Less(t, per, int64(maxFinished))
}

// TestMemoryPerWatchedHost has a thousand simulated hosts watched, and measures the live memory of the controller then.
func TestMemoryPerWatchedHost(t *testing.T) {
	const hosts = 1000
	m := newMemoryWatch(t, hosts)
	m.runner.FullBuilds = m.runner.Builds // a simulated host does not distinguish them
	m.runner.Options.Watch = &playbooks.Watch{Converged: time.Second}
	m.run(hosts)
	per := (m.connected - m.before) / hosts
	t.Logf("%d bytes for each host that is watched", per)
	require.Less(t, per, int64(maxWatched))
}

// A memoryWatch is a run of W30 on simulated hosts, and a reporter that measures: when every host has all but one of
// its results, after which it lets them continue, when all are watched, and when all are done.
type memoryWatch struct {
	*testing.T
	fleet                       *sim
	runner                      *playbooks.Runner
	hosts, results, watched     int
	before, connected, finished int64 // bytes that are live
}

func newMemoryWatch(t *testing.T, hosts int, flags ...string) *memoryWatch {
	require.NoError(t, raiseFileLimit())
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/w30")))
	m := &memoryWatch{T: t, hosts: hosts, fleet: startSim(t, dir, hosts, flags...)}
	m.runner = simRunner(t, dir, m)
	return m
}

// run has so many hosts connected at once.
func (m *memoryWatch) run(forks int) {
	m.runner.Options.Forks = forks
	m.before = live()
	summary, err := m.runner.Run(m.Context(), nil)
	require.NoError(m, err)
	require.Equal(m, m.hosts, summary.Totals.Hosts.OK)
}

// Report implements [events.Reporter].
func (m *memoryWatch) Report(e events.Event) {
	switch e.(type) {
	case events.Result:
		if m.results++; m.results == m.hosts*(resources-1) {
			m.connected = live()
			fmt.Fprintln(m.fleet.stdin, "go on") // hosts that are not held do not read this
		}
	case events.Watched:
		if m.watched++; m.watched == m.hosts {
			m.connected = live()
		}
	case events.Summary:
		m.finished = live()
	}
}

// resources is the number of resources in W30.
const resources = 30

// live is the memory in use, heap and stacks, without garbage, in bytes.
func live() int64 {
	// The second collection frees objects that pools kept through the first.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// simRunner makes a runner of W30 for a simulated fleet.
func simRunner(tb testing.TB, dir string, reporter events.Reporter) *playbooks.Runner {
	tb.Helper()
	inv, err := inventory.Load(tb.Context(), []string{filepath.Join(dir, "hosts.yaml")}, inventory.Options{})
	require.NoError(tb, err)
	plays, err := load.Files(tb.Context(), []string{filepath.Join(dir, "site.yaml")}, builtin.Types())
	require.NoError(tb, err)
	programs, err := builds.Load(moduleDir(tb))
	require.NoError(tb, err)
	tally := &events.Tally{}
	r := &playbooks.Runner{
		Inventory: inv, Plays: plays, Dialer: &dial.Dialer{Home: dir}, BuildID: programs[0].ID,
		Connect:  reach.Options{Warn: func(text string) { tb.Log(text) }},
		Options:  playbooks.Options{Run: "run1", Holder: "tester"},
		Tally:    tally,
		Events:   events.NewStream("run1", time.Now, tally, reporter),
		Now:      time.Now,
		NewNonce: rand.Text,
	}
	tb.Cleanup(func() { r.Dialer.Close() })
	for _, b := range programs {
		if !b.Full {
			r.Builds = append(r.Builds, start.Build{
				OS: b.OS, Arch: b.Arch, SHA256: b.SHA256, Size: b.Size,
				Compressed: b.Compressed, CompressedSize: b.CompressedSize, CompressedSHA256: b.CompressedSHA256,
			})
		}
	}
	return r
}
