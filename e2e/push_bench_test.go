//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// benchHosts is the largest number of hosts in the push benchmark.
const benchHosts = 50

// BenchmarkPush is a whole run of ccm-push with the W30 workload, on light hosts
// of the fleet. In the same loop run the two that it is held against: `ssh host
// true` by OpenSSH, and the floor, a client that is x/crypto/ssh alone.
//
//	x-ssh, x-floor          wall time, as a multiple of theirs (medians)
//	cpu-x-ssh, cpu-x-floor  processor time of the controller, as a multiple of the clients'
//	ssh-ms, floor-ms        wall time of these, which says what machine it is
//	wire-B/host             bytes on the wire, both directions, all headers
//	rss-MB                  the largest resident set
func BenchmarkPush(b *testing.B) {
	f := startBenchFleet(b, benchHosts, "true")
	for _, rtt := range []string{"off", "10ms", "50ms"} {
		f.lag(rtt)
		for _, n := range []int{1, 10, 50} {
			b.Run(fmt.Sprintf("converged/hosts=%d/rtt=%s", n, rtt), func(b *testing.B) { f.bench(b, n, nil) })
		}
		b.Run("first/hosts=10/rtt="+rtt, func(b *testing.B) { f.bench(b, 10, f.fresh) })
	}
}

// A benchFleet is hosts of e2e/fleet with the W30 workload.
type benchFleet struct {
	testing.TB
	dir    string
	hosts  []string // as in the inventory
	ports  []string // HOST:PORT to dial, of each
	state  string   // folder of the fleet, with its keys
	number string   // FLEET
}

// startBenchFleet starts at least n light hosts. It uses running hosts that meet a condition of sh.
func startBenchFleet(b *testing.B, n int, condition string) *benchFleet {
	b.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		needs.Skip(b, "the push benchmark needs Linux and root for its hosts")
	}
	f := &benchFleet{TB: b, dir: b.TempDir(), number: cmp.Or(os.Getenv("FLEET"), "0")}
	f.state = "/run/ccm-push-fleet"
	if f.number != "0" {
		f.state += "-" + f.number
	}
	f.state = cmp.Or(os.Getenv("FLEET_STATE"), f.state)
	up := strings.Count(output(b, "fleet/fleet", "status"), "\tlight\tup\n")
	if fits := up > 0 && exec.Command("fleet/fleet", "exec", "h001", "sh", "-c", condition).Run() == nil; up < n || !fits {
		if up > 0 && !fits {
			output(b, "fleet/fleet", "down")
		}
		output(b, "fleet/fleet", "up", strconv.Itoa(n))
		b.Cleanup(func() { output(b, "fleet/fleet", "down") })
	}
	for i := range n {
		f.hosts = append(f.hosts, fmt.Sprintf("h%03d", i+1))
	}
	require.NoError(b, os.CopyFS(f.dir, os.DirFS("testdata/w30")))
	f.lag("off")
	b.Cleanup(func() { output(b, "fleet/fleet", "lag", "off") })
	return f
}

// lag makes the way to the hosts longer, and the inventories for it.
func (f *benchFleet) lag(rtt string) {
	f.Helper()
	output(f, "fleet/fleet", "lag", rtt)
	form := []string{"inventory"}
	if rtt != "off" {
		form = append(form, "--lag")
	}
	write(f, filepath.Join(f.dir, "hosts.yaml"), output(f, "fleet/fleet", form...))
	config := output(f, "fleet/fleet", append(form, "--ssh")...)
	write(f, filepath.Join(f.dir, "ssh_config"), config)
	f.ports = nil
	address, port := "", ""
	for line := range strings.Lines(config) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "HostName":
			address = value
		case "Port":
			port = value
			f.ports = append(f.ports, address+":"+port)
		}
	}
}

// A cost is the cost of one way to do the work.
type cost struct {
	wall, cpu time.Duration
	rss       int64 // bytes
}

// ran measures processes that run at the same time.
func ran(tb testing.TB, commands ...*exec.Cmd) cost {
	tb.Helper()
	var work sync.WaitGroup
	outputs := make([]bytes.Buffer, len(commands))
	errs := make([]error, len(commands))
	began := time.Now()
	for i, c := range commands {
		c.Stdout, c.Stderr = &outputs[i], &outputs[i]
		work.Go(func() { errs[i] = c.Run() })
	}
	work.Wait()
	all := cost{wall: time.Since(began)}
	for i, c := range commands {
		require.NoError(tb, errs[i], "%s\n%s", c, &outputs[i])
		all.cpu += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		all.rss = max(all.rss, c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
	return all
}

func (f *benchFleet) push(n int) *exec.Cmd {
	// The limit is a list, so that the benchmark does not depend on pattern syntax.
	return pushCommand(f, f.dir, "-i", "hosts.yaml", "--limit", strings.Join(f.hosts[:n], ","), "site.yaml")
}

func (f *benchFleet) openssh(n int) []*exec.Cmd {
	var all []*exec.Cmd
	for _, host := range f.hosts[:n] {
		all = append(all, exec.Command("ssh", "-F", filepath.Join(f.dir, "ssh_config"), host, "true"))
	}
	return all
}

func (f *benchFleet) floor(n int, command string) *exec.Cmd {
	args := []string{"-key", filepath.Join(f.state, "key"), "-known-hosts", filepath.Join(f.state, "known_hosts"), "-run", command}
	return exec.Command(programPath(f, "floor"), append(args, f.ports[:n]...)...)
}

// fresh takes everything off the first n hosts that a run leaves there.
func (f *benchFleet) fresh(n int) {
	ran(f, f.floor(n, "rm -rf /srv/w30 /root/.cache/ccm-push"))
}

// bench alternates ccm-push and its peers, so that all of them meet the same noise of the machine.
func (f *benchFleet) bench(b *testing.B, n int, prepare func(int)) {
	ran(b, f.push(n)) // brings the hosts to their desired state
	var ours, ssh, floor []cost
	wire := int64(0)
	for b.Loop() {
		b.StopTimer()
		if prepare != nil {
			prepare(n)
		}
		before := f.wire()
		b.StartTimer()
		ours = append(ours, ran(b, f.push(n)))
		b.StopTimer()
		wire += f.wire() - before
		ssh = append(ssh, ran(b, f.openssh(n)...))
		floor = append(floor, ran(b, f.floor(n, "true")))
		b.StartTimer()
	}
	wall := func(c cost) float64 { return float64(c.wall) }
	cpu := func(c cost) float64 { return float64(c.cpu) }
	yardsticks(b)
	b.ReportMetric(median(ours, wall)/median(ssh, wall), "x-ssh")
	b.ReportMetric(median(ours, wall)/median(floor, wall), "x-floor")
	b.ReportMetric(median(ours, cpu)/median(ssh, cpu), "cpu-x-ssh")
	b.ReportMetric(median(ours, cpu)/median(floor, cpu), "cpu-x-floor")
	b.ReportMetric(median(ssh, wall)/1e6, "ssh-ms")
	b.ReportMetric(median(floor, wall)/1e6, "floor-ms")
	b.ReportMetric(median(ours, cpu)/1e6/float64(n), "cpu-ms/host")
	b.ReportMetric(float64(wire)/float64(len(ours)*n), "wire-B/host")
	b.ReportMetric(median(ours, func(c cost) float64 { return float64(c.rss) })/(1<<20), "rss-MB")
}

func median(costs []cost, of func(cost) float64) float64 {
	var values []float64
	for _, c := range costs {
		values = append(values, of(c))
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// wire returns the number of bytes on the links of the hosts so far.
func (f *benchFleet) wire() int64 {
	total := int64(0)
	for _, host := range f.hosts {
		for _, direction := range []string{"rx_bytes", "tx_bytes"} {
			text, err := os.ReadFile(filepath.Join("/sys/class/net/ccmp"+f.number+"-"+host, "statistics", direction))
			require.NoError(f, err)
			n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			require.NoError(f, err)
			total += n
		}
	}
	return total
}
