//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules/builds"
)

// BenchmarkRelay measures a first run with W30 on simulated hosts, 50 to a site with a relay, over an uplink that all
// sites share (tc, in a network namespace of its own; root). It is compared with a second run, which finds all hosts
// converged. Hosts accept a relay's login after 300 ms, and each delivery occupies the relay for 25 ms, one after the
// other: that is half of the processor time of a delivery with OpenSSH 9.2 (docs/internals/performance.md), and 1
// Gbit/s carries the program in 22 ms. All hosts and relays are one process on the machine of the controller, so
// deliveries carry no bytes: encrypting the program for each host, which real relays do on their own processors, took
// 10 ms a host, and everything else takes 7.
//
//	x-ideal             wall time, as a multiple of that of the second run with a copy for each relay
//	first-s, second-s   wall time
//	x-cpu               the first, as a multiple of all processor time by the number of processors
//	copies              bytes over the uplink in the first run, more than in the second, by those of the program
//	cpu-ms/host, sim-cpu-ms/host   processor time in the first run, of the controller, and of hosts and relays
func BenchmarkRelay(b *testing.B) {
	for _, size := range []struct{ sites, mbit int }{{20, 100}, {20, 50}, {5, 25}} {
		b.Run(fmt.Sprintf("sites=%d/uplink=%dmbit", size.sites, size.mbit), func(b *testing.B) { benchRelays(b, size.sites, size.mbit) })
	}
}

func benchRelays(b *testing.B, sites, mbit int) {
	hosts := 50 * sites
	require.NoError(b, raiseFileLimit())
	size := float64(leanSize(b))
	link := newUplink(b, fmt.Sprintf("%dmbit", mbit))
	var ours, again []cost
	var simulated, more float64 // seconds; bytes
	for b.Loop() {
		b.StopTimer()
		f := &fleet{TB: b, dir: b.TempDir()}
		require.NoError(b, os.CopyFS(f.dir, os.DirFS("testdata/w30")))
		sim := startSimBy(b, link.inside, f.dir, hosts, "-relays", strconv.Itoa(sites), "-near", "300ms", "-each", "25ms", "-net", link.net)
		require.NoError(b, os.Link(f.path("id"), f.path("ca")))
		write(b, f.path("ca.sh"), authorityScript)
		require.NoError(b, os.Chmod(f.path("ca.sh"), 0o755))
		run := func() (cost, float64) {
			before := link.bytes()
			took := ran(b, pushCommand(b, f.dir, "-i", "hosts.yaml", "--limit", "sites", "--output", "json", byAuthority, "site.yaml"))
			return took, float64(link.bytes() - before)
		}
		b.StartTimer()
		first, much := run()
		b.StopTimer()
		use := sim.ask()
		require.Zero(b, use.sent, "hosts were sent the program from here")
		second, little := run()
		ours, again = append(ours, first), append(again, second)
		simulated, more = simulated+use.cpu.Seconds(), more+much-little
		sim.stop()
		b.StartTimer()
	}
	n := float64(len(ours))
	wall := func(c cost) float64 { return c.wall.Seconds() }
	cpu := median(ours, func(c cost) float64 { return c.cpu.Seconds() })
	b.ReportMetric(median(ours, wall)/(median(again, wall)+float64(sites)*size*8/1e6/float64(mbit)), "x-ideal")
	b.ReportMetric(median(ours, wall), "first-s")
	b.ReportMetric(median(again, wall), "second-s")
	b.ReportMetric(median(ours, wall)*float64(runtime.NumCPU())/(cpu+simulated/n), "x-cpu")
	b.ReportMetric(more/n/size, "copies")
	b.ReportMetric(cpu*1e3/float64(hosts), "cpu-ms/host")
	b.ReportMetric(simulated*1e3/n/float64(hosts), "sim-cpu-ms/host")
	yardsticks(b)
}

// leanSize returns the compressed size of the lean host program.
func leanSize(tb testing.TB) int64 {
	tb.Helper()
	list, err := builds.Load(moduleDir(tb))
	require.NoError(tb, err)
	for _, b := range list {
		if !b.Full {
			return b.CompressedSize
		}
	}
	tb.Fatal("there is no lean host program")
	return 0
}

// An uplink leads into a network namespace.
type uplink struct {
	testing.TB
	name   string   // name of the namespace, and of the interface here
	net    string   // how addresses in there begin
	inside []string // runs a command there
}

// newUplink creates a namespace with a network behind an uplink of that rate each way, until the test ends.
func newUplink(tb testing.TB, rate string) *uplink {
	tb.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		needs.Skip(tb, "an uplink needs Linux and root")
	}
	number := cmp.Or(os.Getenv("FLEET"), "0")
	u := &uplink{TB: tb, name: "ccmpup" + number, net: "10.1" + number + "0"}
	u.inside = []string{"ip", "netns", "exec", u.name}
	output(tb, "ip", "netns", "add", u.name)
	tb.Cleanup(func() { output(tb, "ip", "netns", "del", u.name) })
	for _, line := range []string{
		"ip link add name UP type veth peer name site netns UP",
		"ip address add NET.255.1/24 dev UP",
		"ip link set UP up",
		"ip route add NET.0.0/17 via NET.255.2",
		"tc qdisc add dev UP root tbf rate RATE burst 64kb latency 200ms",
		"ip -n UP address add NET.255.2/24 dev site",
		"ip -n UP link set site up",
		"ip -n UP link set lo up",
		"ip -n UP route add local NET.0.0/17 dev lo",
		"ip netns exec UP tc qdisc add dev site root tbf rate RATE burst 64kb latency 200ms",
	} {
		words := strings.Fields(strings.NewReplacer("UP", u.name, "NET", u.net, "RATE", rate).Replace(line))
		output(tb, words[0], words[1:]...)
	}
	return u
}

// bytes returns the number of bytes sent into the namespace.
func (u *uplink) bytes() int64 {
	u.Helper()
	text, err := os.ReadFile(filepath.Join("/sys/class/net", u.name, "statistics/tx_bytes"))
	require.NoError(u, err)
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	require.NoError(u, err)
	return n
}
