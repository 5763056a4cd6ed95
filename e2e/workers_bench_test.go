//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/natsconn/natstest"
)

// BenchmarkWorkers is W30 on 2,000 simulated hosts, by the machine itself and by workers; all of them are
// processes of one machine, with a server of NATS in that of the benchmark. What the machine where the run is begun
// spends on a host bounds how many hosts it can have worked on.
//
//	cpu-ms/host, workers-cpu-ms/host   processor time where the run is begun, and of all workers
//	s/run                              wall time
func BenchmarkWorkers(b *testing.B) {
	const hosts = 2000
	for _, workers := range []int{0, 1, 2, 4} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			require.NoError(b, raiseFileLimit())
			dir := b.TempDir()
			require.NoError(b, os.CopyFS(dir, os.DirFS("testdata/w30")))
			startSim(b, dir, hosts, "-rtt", "50ms")
			args := []string{"-i", "hosts.yaml", "--output", "json", "site.yaml"}
			f := &fleet{TB: b, dir: dir}
			var spent func() time.Duration
			if workers > 0 {
				url := natstest.Start(b)
				f.workersKeys("id")
				args = append([]string{"--workers", url, "--workers-key", "coordinator", "--workers-list", "worker.pub", "--ca-command", "./ca.sh"}, args...)
				spent = f.working(url, workers)
			}
			var ours []cost
			for b.Loop() {
				ours = append(ours, ran(b, pushCommand(b, dir, args...)))
			}
			b.ReportMetric(median(ours, func(c cost) float64 { return float64(c.cpu) })/1e6/hosts, "cpu-ms/host")
			b.ReportMetric(median(ours, func(c cost) float64 { return float64(c.wall) })/1e9, "s/run")
			if spent != nil {
				b.ReportMetric(float64(spent())/1e6/hosts/float64(len(ours)), "workers-cpu-ms/host")
			}
			yardsticks(b)
		})
	}
}

// working starts workers; what it returns ends them, and says what processor time they took.
func (f *fleet) working(url string, n int) (spent func() time.Duration) {
	var ends []func() time.Duration
	for range n {
		cmd, out := f.worker(url)
		ends = append(ends, func() time.Duration {
			require.NoError(f, cmd.Process.Signal(os.Interrupt))
			require.NoError(f, cmd.Wait(), "%s", out)
			return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		})
	}
	return func() (sum time.Duration) {
		for _, end := range ends {
			sum += end()
		}
		return sum
	}
}
