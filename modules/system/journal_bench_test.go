package system

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// BenchmarkResults measures a host's cost of keeping the results of a catalog of 30 entries until its controller has
// acknowledged them. The host does not wait for the acknowledgement, so no round trip is measured.
//
//	cpu-ms/run   processor time of user and kernel; the remaining time belongs to the disk
func BenchmarkResults(b *testing.B) {
	for _, status := range []wire.Status{wire.Stable, wire.Changed} {
		b.Run(string(status), func(b *testing.B) {
			log := &Log{Journal: Journal{b.TempDir(), "results.jsonl", maxLog}}
			before := processorTime(b)
			for n := 0; b.Loop(); n++ {
				once := wire.Once{Run: fmt.Sprintf("01M843PF8V2YS87G1TEXT3%04d", n%10_000), Play: 1}
				var r notes.Results
				require.NoError(b, r.Open(log))
				_, err := r.Begin(once, wire.Lock{Run: once.Run, Holder: "ops@ctl (pid 647)"}, "0123456789abcdef", time.Now())
				require.NoError(b, err)
				for i := range 30 {
					require.NoError(b, r.Finish(&notes.Finished{
						Result: &wire.Result{Index: i, Status: status, Duration: time.Millisecond},
						Type:   "file", Name: fmt.Sprintf("/etc/app/%d.conf", i), Changed: status == wire.Changed,
					}))
					if i%10 == 9 { // results are sent together
						require.NoError(b, r.Flush())
					}
				}
				require.NoError(b, r.End(true))
				require.NoError(b, r.Acknowledge(wire.Ack{Run: once.Run, Play: once.Play}))
			}
			b.ReportMetric(float64(processorTime(b)-before)/1e6/float64(b.N), "cpu-ms/run")
		})
	}
}

// processorTime returns the processor time of this process.
func processorTime(tb testing.TB) time.Duration {
	var use syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
