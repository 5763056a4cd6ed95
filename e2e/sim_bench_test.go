//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkFleet measures a whole run of ccm-push with the W30 workload on simulated hosts: SSH, the message stream and
// the rendering are real, the work of the hosts is not. All hosts are one process, whose processor time is counted
// apart:
//
//	cpu-ms/host, sim-cpu-ms/host   processor time, of the controller and of the hosts
//	x-cpu                          wall time, as a multiple of all that by the number of processors
//	rss-MB                         the largest resident set
func BenchmarkFleet(b *testing.B) {
	for _, rtt := range []string{"0s", "50ms"} {
		for _, n := range []int{1000, 10_000, 50_000} {
			b.Run(fmt.Sprintf("hosts=%d/rtt=%s", n, rtt), func(b *testing.B) { benchSim(b, n, rtt) })
		}
	}
}

// BenchmarkTemplates is W30 on 50 simulated hosts, in turns with the floor, as it is, with 4 of its 20 templates
// reading facts of the host, and with all of them.
//
//	cpu-x-floor   processor time of the controller, as a multiple of the floor's (medians)
func BenchmarkTemplates(b *testing.B) {
	for _, own := range []int{4, 20} {
		b.Run(fmt.Sprintf("own=%d", own), func(b *testing.B) {
			dir := b.TempDir()
			require.NoError(b, os.CopyFS(dir, os.DirFS("testdata/w30")))
			if own == 20 {
				text, err := os.ReadFile(filepath.Join(dir, "templates", "host.jet"))
				require.NoError(b, err)
				write(b, filepath.Join(dir, "templates", "app.jet"), string(text))
			}
			s := startSim(b, dir, 50)
			var ours, floor []cost
			for b.Loop() {
				ours = append(ours, ran(b, pushCommand(b, dir, "-i", "hosts.yaml", "site.yaml")))
				b.StopTimer()
				floor = append(floor, ran(b, s.floor(dir)))
				b.StartTimer()
			}
			cpu := func(c cost) float64 { return float64(c.cpu) }
			yardsticks(b)
			b.ReportMetric(median(ours, cpu)/median(floor, cpu), "cpu-x-floor")
			b.ReportMetric(median(ours, cpu)/1e6/50, "cpu-ms/host")
		})
	}
}

func benchSim(b *testing.B, n int, rtt string) {
	require.NoError(b, raiseFileLimit())
	var ours []cost
	var simulated time.Duration
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		require.NoError(b, os.CopyFS(dir, os.DirFS("testdata/w30")))
		sim := startSim(b, dir, n, "-rtt", rtt)
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
	all := median(ours, func(c cost) float64 { return float64(c.cpu) }) + float64(simulated)/float64(len(ours))
	b.ReportMetric(median(ours, func(c cost) float64 { return float64(c.wall) })*float64(runtime.NumCPU())/all, "x-cpu")
	yardsticks(b)
}

// BenchmarkRecord measures the cost of a run's record for its controller: runs with and without it alternate, so that
// both see the same machine. One pair has little meaning: -benchtime 200x.
//
//	cpu-ratio          processor time of the controller with a record by that without, of each pair; the median, with quartiles
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
	return startSimBy(tb, nil, dir, hosts, flags...)
}

// startSimBy starts it by a command that the words of its own are added to.
func startSimBy(tb testing.TB, by []string, dir string, hosts int, flags ...string) *sim {
	tb.Helper()
	args := slices.Concat(by, []string{programPath(tb, "simfleet"), "-hosts", strconv.Itoa(hosts), "-dir", dir, "-modules", moduleDir(tb)}, flags)
	s := &sim{TB: tb, cmd: exec.Command(args[0], args[1:]...)}
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

// inventory returns the inventory that the fleet has written.
func (s *sim) inventory(dir string) string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "hosts.yaml"))
	require.NoError(s, err)
	return string(text)
}

// stop ends the fleet and returns its processor time.
func (s *sim) stop() time.Duration {
	s.Helper()
	s.stdin.Close()
	took := s.used().cpu
	s.cmd.Wait()
	return took
}

// A simUse is the use of a fleet so far.
type simUse struct {
	cpu          time.Duration
	bytes, asked int64 // bytes on all connections; messages to hosts, except pings
	mended       int   // hosts on which something was applied after they had been watched
	sent         int   // hosts that the controller has sent the host program
}

// ask requests the fleet's use so far.
func (s *sim) ask() simUse {
	s.Helper()
	_, err := fmt.Fprintln(s.stdin)
	require.NoError(s, err)
	return s.used()
}

func (s *sim) used() (use simUse) {
	s.Helper()
	line, err := s.says.ReadString('\n')
	require.NoError(s, err)
	var took string
	_, err = fmt.Sscanf(line, "cpu %s bytes %d asked %d mended %d sent %d", &took, &use.bytes, &use.asked, &use.mended, &use.sent)
	require.NoError(s, err)
	use.cpu, err = time.ParseDuration(took)
	require.NoError(s, err)
	return use
}
