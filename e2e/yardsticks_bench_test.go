//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// yardsticks reports, beside a benchmark's own figures, what a Go program that does nothing takes from its
// start to its end, since ratios between programs differ by a factor of two between machines:
//
//	bare-ms, bare-cpu-ms   wall and processor time, medians of 20
func yardsticks(b *testing.B) {
	b.Helper()
	var bare []cost
	for range 20 {
		bare = append(bare, ran(b, exec.Command(programPath(b, "bare"))))
	}
	b.ReportMetric(median(bare, func(c cost) float64 { return float64(c.wall) })/1e6, "bare-ms")
	b.ReportMetric(median(bare, func(c cost) float64 { return float64(c.cpu) })/1e6, "bare-cpu-ms")
}

// floor is the floor for all hosts of a simulated fleet.
func (s *sim) floor(dir string) *exec.Cmd {
	s.Helper()
	var hosts []string
	for _, found := range regexp.MustCompile(`address: ([\d.]+), port: (\d+)`).FindAllStringSubmatch(s.inventory(dir), -1) {
		hosts = append(hosts, found[1]+":"+found[2])
	}
	require.NotEmpty(s, hosts)
	args := []string{"-user", "sim", "-key", filepath.Join(dir, "id"), "-known-hosts", filepath.Join(dir, "known_hosts")}
	return exec.Command(programPath(s, "floor"), append(args, hosts...)...)
}
