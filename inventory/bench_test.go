package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// large writes an inventory of hosts that stand on a line of their own, each
// with two variables, in groups of equal size.
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

func BenchmarkLoad10k(b *testing.B) {
	text := large(10_000, 200)
	for b.Loop() {
		inv, err := Parse("hosts.yml", text)
		require.NoError(b, err)
		require.Len(b, inv.hosts, 10_000)
	}
}

func BenchmarkLoadRange10k(b *testing.B) {
	for b.Loop() {
		inv, err := Parse("hosts.yml", []byte("web: {hosts: {'web[00001:10000]': }}"))
		require.NoError(b, err)
		require.Len(b, inv.hosts, 10_000)
	}
}

func BenchmarkVarsAndConnection10k(b *testing.B) {
	inv, err := Parse("hosts.yml", large(10_000, 200))
	require.NoError(b, err)
	for b.Loop() {
		for _, h := range inv.hosts {
			h.Vars()
			h.Connection()
		}
	}
}

func BenchmarkSelect100k(b *testing.B) {
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
