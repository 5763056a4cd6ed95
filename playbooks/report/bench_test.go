package report_test

import (
	"io"
	"testing"

	"github.com/ccm-push/ccm-push/playbooks/report"
)

// BenchmarkCollect measures collecting a run of 5,000 hosts with 32 resources.
func BenchmarkCollect(b *testing.B) {
	all := fleet(5000)
	b.ReportAllocs()
	for b.Loop() {
		collect(all...)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(all)), "µs/event")
}

func BenchmarkWrite(b *testing.B) {
	run := collect(fleet(5000)...)
	for name, format := range map[string]report.Format{"junit": (*report.Run).JUnit, "md": (*report.Run).Markdown, "html": (*report.Run).HTML} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = format(run, io.Discard)
			}
		})
	}
}
