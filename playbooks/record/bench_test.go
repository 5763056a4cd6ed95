package record

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// BenchmarkRun records a run of 50 hosts with 30 resources each, whose results are repeated three times: the cost of a
// record, without the rest of the run.
//
//	cpu-ms/run   processor time, of the user and of the kernel
func BenchmarkRun(b *testing.B) {
	const hosts, resources, times = 50, 30, 3
	s := Store{Folder: filepath.Join(b.TempDir(), "runs")}
	var names []string
	for i := range hosts {
		names = append(names, fmt.Sprintf("web%05d", i))
	}
	before := processorTime(b)
	for b.Loop() {
		run := NewID(time.Now())
		stream := events.NewStream(run, time.Now, s.Recorder(Header{Run: run}, func(text string) { b.Error(text) }))
		stream.Report(events.RunStart{Hosts: hosts, Plays: []events.SelectedPlay{{Name: "site", Hosts: names}}})
		stream.Report(events.PlayStart{Play: "site", Number: 1, Batch: 1, Batches: 1, Hosts: names})
		for range times {
			for _, host := range names {
				var all []events.Event
				for i := range resources / times {
					all = append(all, events.Result{
						Play: "site", Host: host, Type: "file", Name: fmt.Sprintf("/etc/app/%d.conf", i),
						Status: events.Stable, Certain: true, Duration: 123 * time.Microsecond,
					})
				}
				stream.Report(all...)
			}
		}
		for _, host := range names {
			stream.Report(events.HostDone{Host: host, State: events.StateOK, Counts: events.Counts{Stable: resources}})
		}
		stream.Report(events.Summary{})
	}
	b.ReportMetric(float64(processorTime(b)-before)/1e6/float64(b.N), "cpu-ms/run")
}

// processorTime returns the processor time of this process.
func processorTime(tb testing.TB) time.Duration {
	var use syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
