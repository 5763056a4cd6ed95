package inventory

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// large writes an inventory with one host per line, each with two variables, in groups of equal size.
func large(hosts, groups int) []byte {
	var b strings.Builder
	b.WriteString("all:\n  vars: {domain: example.com}\n  children:\n")
	for g := range groups {
		fmt.Fprintf(&b, "    rack%03d:\n      vars: {rack: %d, ansible_user: deploy}\n      hosts:\n", g, g)
		for h := range hosts / groups {
			n := g*(hosts/groups) + h
			fmt.Fprintf(&b, "        web%06d: {ansible_host: 10.%d.%d.%d, serial: %d}\n", n, n>>16, n>>8&255, n&255, n)
		}
	}
	return []byte(b.String())
}

// largeINI is large in the other format.
func largeINI(hosts, groups int) []byte {
	var b strings.Builder
	b.WriteString("[all:vars]\ndomain=example.com\n")
	for g := range groups {
		fmt.Fprintf(&b, "[rack%03d:vars]\nrack=%d\nansible_user=deploy\n[rack%03d]\n", g, g, g)
		for h := range hosts / groups {
			n := g*(hosts/groups) + h
			fmt.Fprintf(&b, "web%06d ansible_host=10.%d.%d.%d serial=%d\n", n, n>>16, n>>8&255, n&255, n)
		}
	}
	return []byte(b.String())
}

// BenchmarkLoad10000 loads 10,000 explicitly listed hosts in 200 groups, with a var file for every group. It also
// reports the memory that the inventory keeps and the largest heap, garbage included.
func BenchmarkLoad10000(b *testing.B) {
	for name, text := range map[string][]byte{"hosts.yaml": large(10_000, 200), "hosts.ini": largeINI(10_000, 200)} {
		b.Run(strings.TrimPrefix(filepath.Ext(name), "."), func(b *testing.B) {
			dir := b.TempDir()
			require.NoError(b, os.WriteFile(filepath.Join(dir, name), text, 0o600))
			require.NoError(b, os.Mkdir(filepath.Join(dir, "group_vars"), 0o755))
			for g := range 200 {
				path := filepath.Join(dir, "group_vars", fmt.Sprintf("rack%03d.yml", g))
				require.NoError(b, os.WriteFile(path, []byte("location: {row: 7, slot: b}\n"), 0o600))
			}
			before := liveBytes()
			b.ReportAllocs()
			var inv *Inventory
			var most uint64
			for b.Loop() {
				var err error
				inv, err = Load(b.Context(), []string{filepath.Join(dir, name)}, Options{})
				require.NoError(b, err)
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapSys)
			}
			b.ReportMetric(float64(liveBytes()-before)/1e6, "live-MB")
			b.ReportMetric(float64(most)/1e6, "heap-MB")
			require.Len(b, inv.hosts, 10_000)
		})
	}
}

func liveBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkLoadRange10000(b *testing.B) {
	for b.Loop() {
		inv, err := Parse("hosts.yml", []byte("web: {hosts: {'web[00001:10000]': }}"))
		require.NoError(b, err)
		require.Len(b, inv.hosts, 10_000)
	}
}

func BenchmarkVarsAndConnection10000(b *testing.B) {
	inv, err := Parse("hosts.yml", large(10_000, 200))
	require.NoError(b, err)
	for b.Loop() {
		for _, h := range inv.hosts {
			h.Vars()
			h.Connection()
		}
	}
}

func BenchmarkSelect100000(b *testing.B) {
	inv, err := Parse("hosts.yml", large(100_000, 200))
	require.NoError(b, err)
	for _, pattern := range []string{
		"all", "rack007", "rack*", "web*", "web0?5*", "~web.*7$", "web[000001-099999]", "all[500:90000]", "all:!rack001:&web*5", "web000001,nosuchhost",
	} {
		b.Run(pattern, func(b *testing.B) {
			for b.Loop() {
				_, _, err := inv.Select(pattern)
				require.NoError(b, err)
			}
		})
	}
}
