//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// BenchmarkWatch is what a thousand watched hosts cost while nothing happens on them: W30 on simulated
// hosts, which are a process of their own. Each turn is a minute of it, with six pings of each host.
//
//	cpu-%       of one processor, that the controller takes
//	B/min/host  on the wire, both directions, SSH included
//	asked       what hosts are asked in that time besides pings, all together
//	rss-KB/host, rss-MB  resident set of the controller: what hosts add to that of one with a single host, and all of it
func BenchmarkWatch(b *testing.B) {
	const hosts = 1000
	require.NoError(b, raiseFileLimit())
	_, alone := watchSim(b, 1)
	time.Sleep(10 * time.Second)
	rss := alone.rss()
	alone.end()
	s, w := watchSim(b, hosts)
	time.Sleep(15 * time.Second) // it gives back what it took to come to that
	var cpu time.Duration
	var bytes, asked int64
	for b.Loop() {
		before, began := s.ask(), w.cpu()
		time.Sleep(time.Minute)
		after := s.ask()
		cpu += w.cpu() - began
		bytes += after.bytes - before.bytes
		asked += after.asked - before.asked
	}
	all := w.rss()
	w.end()
	b.ReportMetric(float64(cpu)/float64(time.Duration(b.N)*time.Minute)*100, "cpu-%")
	b.ReportMetric(float64(bytes)/float64(b.N)/hosts, "B/min/host")
	b.ReportMetric(float64(asked)/float64(b.N), "asked")
	b.ReportMetric(float64(all-rss)/1024/(hosts-1), "rss-KB/host")
	b.ReportMetric(float64(all)/(1<<20), "rss-MB")
}

// watchSim has W30 watched on simulated hosts, and returns when all are.
func watchSim(b *testing.B, hosts int) (*sim, *watcher) {
	dir := b.TempDir()
	require.NoError(b, os.CopyFS(dir, os.DirFS("testdata/w30")))
	s := startSim(b, dir, hosts)
	require.NoError(b, os.Rename(filepath.Join(dir, "hosts.yaml"), filepath.Join(dir, "root.yaml")))
	w := (&fleet{TB: b, dir: dir}).watch("site.yaml")
	for range hosts {
		w.awaitsEvent("watched", func(e watchEvent) bool { return e.Event == "watched" })
	}
	return s, w
}

// rss is the resident set of the controller, in bytes.
func (w *watcher) rss() int64 {
	w.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", w.cmd.Process.Pid))
	require.NoError(w, err)
	var size, resident int64
	_, err = fmt.Sscan(string(text), &size, &resident)
	require.NoError(w, err)
	return resident * int64(os.Getpagesize())
}

// cpu is the processor time that the controller has taken.
func (w *watcher) cpu() time.Duration {
	w.Helper()
	var t unix.Timespec
	// CPUCLOCK_SCHED of a process: linux/posix-timers_types.h.
	require.NoError(w, unix.ClockGettime(int32(^w.cmd.Process.Pid<<3|2), &t))
	return time.Duration(t.Nano())
}

// end ends it, and waits for that.
func (w *watcher) end() {
	w.Helper()
	require.NoError(w, w.cmd.Process.Signal(os.Interrupt))
	for range w.events {
	}
}
