//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkFleet is a whole run of ccm-push with the W30 workload on simulated
// hosts: SSH, the message stream and the rendering are real, the work of the
// hosts is not. All hosts are one process, whose processor time is told apart:
//
//	cpu-ms/host, sim-cpu-ms/host   processor time, of the controller and of the hosts
//	KB/host                        growth of the largest resident set, per host
func BenchmarkFleet(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("hosts=%d", n), func(b *testing.B) { benchSim(b, n) })
	}
}

func benchSim(b *testing.B, n int) {
	require.NoError(b, raiseFileLimit())
	var ours []cost
	var simulated time.Duration
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		require.NoError(b, os.CopyFS(dir, os.DirFS("testdata/w30")))
		sim := startSim(b, dir, n)
		b.StartTimer()
		ours = append(ours, ran(b, pushCommand(b, dir, "-i", "hosts.yaml", "--output", "json", "site.yaml")))
		b.StopTimer()
		simulated += sim.stop()
		b.StartTimer()
	}
	per := func(d float64) float64 { return d / 1e6 / float64(n) }
	b.ReportMetric(per(median(ours, func(c cost) float64 { return float64(c.wall) })), "ms/host")
	b.ReportMetric(per(median(ours, func(c cost) float64 { return float64(c.cpu) })), "cpu-ms/host")
	b.ReportMetric(per(float64(simulated)/float64(len(ours))), "sim-cpu-ms/host")
	b.ReportMetric(median(ours, func(c cost) float64 { return float64(c.rss) })/(1<<20), "rss-MB")
}

// BenchmarkRecord is what the record of a run costs its controller: runs with it and without
// it take turns, so that both see the same machine. One pair says little: -benchtime 200x.
//
//	cpu-ratio          processor time of the controller with a record by that without, of each
//	                   pair; the median, with quartiles
//	cpu-ms, cpu-plus-ms  that time without a record, and what a record adds to it: medians
//	KB/run             size of a record
func BenchmarkRecord(b *testing.B) {
	const hosts = 50
	require.NoError(b, raiseFileLimit())
	dir := b.TempDir()
	require.NoError(b, os.CopyFS(dir, os.DirFS("testdata/w30")))
	startSim(b, dir, hosts)
	state := b.TempDir()
	run := func(flags ...string) cost {
		cmd := pushCommand(b, dir, append(flags, "-i", "hosts.yaml", "site.yaml")...)
		cmd.Env = append(cmd.Environ(), "XDG_STATE_HOME="+state)
		return ran(b, cmd)
	}
	run()
	var ratios, plus, without []float64
	for b.Loop() {
		var pair [2]float64 // without, with
		for i := range pair {
			if which := (i + len(ratios)) % 2; which == 1 { // each comes first as often
				pair[which] = float64(run().cpu)
			} else {
				pair[which] = float64(run("--no-record").cpu)
			}
		}
		ratios, plus, without = append(ratios, pair[1]/pair[0]), append(plus, pair[1]-pair[0]), append(without, pair[0])
	}
	quartile := func(values []float64, i int) float64 {
		slices.Sort(values)
		return values[len(values)*i/4]
	}
	b.ReportMetric(quartile(ratios, 2), "cpu-ratio")
	b.ReportMetric(quartile(ratios, 1), "cpu-ratio-q1")
	b.ReportMetric(quartile(ratios, 3), "cpu-ratio-q3")
	b.ReportMetric(quartile(without, 2)/1e6, "cpu-ms")
	b.ReportMetric(quartile(plus, 2)/1e6, "cpu-plus-ms")
	runs, err := os.ReadDir(filepath.Join(state, "ccm-push", "runs"))
	require.NoError(b, err)
	size := int64(0)
	require.NoError(b, filepath.WalkDir(state, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, infoErr := d.Info()
			size, err = size+info.Size(), infoErr
		}
		return err
	}))
	b.ReportMetric(float64(size)/1024/float64(len(runs)), "KB/run")
}

// A sim is a simulated fleet that is running.
type sim struct {
	testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	says  *bufio.Reader
}

func startSim(tb testing.TB, dir string, hosts int, flags ...string) *sim {
	tb.Helper()
	args := append([]string{"-hosts", strconv.Itoa(hosts), "-dir", dir, "-modules", moduleDir(tb)}, flags...)
	s := &sim{TB: tb, cmd: exec.Command(programPath(tb, "simfleet"), args...)}
	stdin, err := s.cmd.StdinPipe()
	require.NoError(tb, err)
	stdout, err := s.cmd.StdoutPipe()
	require.NoError(tb, err)
	s.cmd.Stderr = os.Stderr
	s.stdin, s.says = stdin, bufio.NewReader(stdout)
	require.NoError(tb, s.cmd.Start())
	tb.Cleanup(func() {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	})
	line, err := s.says.ReadString('\n')
	require.NoError(tb, err)
	require.Equal(tb, "ready\n", line)
	return s
}

// stop ends the fleet and gives the processor time that it took.
func (s *sim) stop() time.Duration {
	s.Helper()
	s.stdin.Close()
	line, err := s.says.ReadString('\n')
	require.NoError(s, err)
	took, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(line, "cpu ")))
	require.NoError(s, err)
	s.cmd.Wait()
	return took
}
