//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkConverged measures a whole run of ccm-push that finds nothing to do on one host. "x-ssh" is its time divided
// by that of `ssh host true` on the same sshd and link.
func BenchmarkConverged(b *testing.B) {
	for _, rtt := range []time.Duration{0, slowLink} {
		s := startSSHD(b, "")
		m := startMeter(b, rtt, s.port)
		s.behind(b, m.port)
		for _, n := range []int{20, 200} {
			s.site(b, n)
			push(b, s.dir, "-i", "hosts.yaml", "site.yaml").requireCode(b, 0)
			b.Run(fmt.Sprintf("resources=%d/rtt=%v", n, rtt), func(b *testing.B) { benchConverged(b, s, m) })
		}
	}
}

func benchConverged(b *testing.B, s *server, m *meter) {
	var ours, theirs time.Duration
	trips, runs := int64(0), 0
	for b.Loop() {
		before := m.trips.Load()
		ours += timed(func() { push(b, s.dir, "-i", "hosts.yaml", "site.yaml").requireCode(b, 0) })
		trips += m.trips.Load() - before
		b.StopTimer()
		// In turns, so that both meet the same noise of the machine.
		theirs += timed(func() { s.openssh(b, m.port, "true") })
		b.StartTimer()
		runs++
	}
	if m.rtt > 0 {
		b.ReportMetric(float64(trips)/float64(runs), "roundtrips/op")
	}
	b.ReportMetric(float64(theirs)/float64(runs), "ssh-ns/op")
	b.ReportMetric(float64(ours)/float64(theirs), "x-ssh")
}

func timed(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}
