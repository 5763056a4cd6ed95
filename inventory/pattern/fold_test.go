package pattern_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/pattern"
)

// foldVectors are names and the text that ClusterShell folds them into.
var foldVectors = []struct{ names, want string }{
	{"web1 web2 web3", "web[1-3]"},
	{"web1 web01", "web[1,01]"},
	{"web09 web10 web11", "web[09-11]"},
	{"web099 web100", "web[099-100]"},
	{"web00 web1", "web[1,00]"},
	{"web1", "web1"},
	{"web1 db1 web2", "db1,web[1-2]"},
	{"web1 web3 web5 web7 web9", "web[1,3,5,7,9]"},
	{"web1.example.com web2.example.com", "web[1-2].example.com"},
	{"2001:db8::1 2001:db8::2", "2001:db8::[1-2]"},
	{"rack1node1 rack1node2 rack1node3 rack2node1 rack2node2 rack2node3", "rack[1-2]node[1-3]"},
	{"rack1node1 rack1node2 rack2node1", "rack1node[1-2],rack2node1"},
	{"host.10g1 host.10g2", "host.10g[1-2]"},
	{"h-1 h-2", "h-[1-2]"},
	{"web1 web1", "web1"},
	{"lonely01 bastion.example.com web01 web02 web03 web04 db-a db-b db-c stage-web1.example.com stage-web2.example.com stage-web3.example.com", "bastion.example.com,db-a,db-b,db-c,lonely01,stage-web[1-3].example.com,web[01-04]"},

	// Ours.
	{"", ""},
	{"web9 web10 web11", "web[9-11]"},
	{"web99 web100 web098 web099", "web[99,098-100]"},
	{"web8 web9 web08 web09 web10", "web[8-9,08-10]"},
	{"web09 web100", "web[09,100]"},
	{"a0 a1", "a[0-1]"},
	{"10.0.0.1 10.0.0.2 10.0.0.3", "10.0.0.[1-3]"},
	{"10.0.10.1 10.0.2.1 10.0.2.2", "10.0.2.[1-2],10.0.10.1"},
	{"web web1", "web,web1"},
	{"a1b1c1 a1b1c2 a1b2c1 a1b2c2 a2b1c1 a2b1c2 a2b2c1 a2b2c2", "a[1-2]b[1-2]c[1-2]"},
	{"n123456789012345678 n123456789012345679", "n123456789012345678,n123456789012345679"},
	{"n12345678901234567 n12345678901234568", "n[12345678901234567-12345678901234568]"},
	{"fe80::1%eth0 fe80::1%eth1", "fe80::1%eth[0-1]"},
}

func TestFold(t *testing.T) {
	for _, tt := range foldVectors {
		t.Run(tt.names, func(t *testing.T) {
			names := strings.Fields(tt.names)
			require.Equal(t, tt.want, pattern.Fold(names))
			requireFolds(t, names)
			slices.Reverse(names)
			require.Equal(t, tt.want, pattern.Fold(names))
		})
	}
}

// requireFolds checks that a folded text, used as a host pattern, selects the names that it was made of, and
// that these fold to the same text again.
func requireFolds(t *testing.T, names []string) {
	t.Helper()
	folded := pattern.Fold(names)
	if len(names) == 0 {
		return
	}
	distinct := slices.Clone(names)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	require.Equal(t, folded, pattern.Fold(distinct))

	var text strings.Builder
	text.WriteString("all: {hosts: {other-host: ")
	for _, name := range distinct {
		fmt.Fprintf(&text, ", %q: ", hostKey(name))
	}
	text.WriteString("}}")
	inv, err := inventory.Parse("hosts.yml", []byte(text.String()))
	require.NoError(t, err)
	selected, warnings, err := inv.Select(folded)
	require.NoError(t, err)
	require.Empty(t, warnings)
	var got []string
	for _, h := range selected {
		got = append(got, h.Name)
	}
	slices.Sort(got)
	require.Equal(t, distinct, got, "%q", folded)
}

// hostKey writes a name so that nothing in it is taken for a port.
func hostKey(name string) string {
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}

// randomNames returns names of few kinds, so that they have something to fold.
func randomNames(r *rand.Rand) []string {
	kinds := []func() string{
		func() string { return fmt.Sprintf("web%d", r.IntN(30)) },
		func() string { return fmt.Sprintf("web%02d", r.IntN(30)) },
		func() string { return fmt.Sprintf("web%03d.example.com", r.IntN(120)) },
		func() string { return fmt.Sprintf("rack%dnode%d", r.IntN(4), r.IntN(12)) },
		func() string { return fmt.Sprintf("r%02dn%dd%d", r.IntN(12), r.IntN(3), r.IntN(3)) },
		func() string { return fmt.Sprintf("10.0.%d.%d", r.IntN(3), r.IntN(256)) },
		func() string { return fmt.Sprintf("2001:db8:%d::%d", r.IntN(3)+1, r.IntN(12)+1) },
		func() string { return fmt.Sprintf("%d", r.IntN(1100)) },
		func() string { return fmt.Sprintf("db-%c", 'a'+r.IntN(5)) },
	}
	use := kinds[r.IntN(len(kinds)):]
	names := make([]string, 1+r.IntN(60))
	for i := range names {
		names[i] = use[r.IntN(min(2, len(use)))]()
	}
	return names
}

func TestFoldsExpandToTheirNames(t *testing.T) {
	for seed := range uint64(500) {
		requireFolds(t, randomNames(rand.New(rand.NewPCG(seed, 7))))
	}
}

// isHostName reports whether an inventory accepts a name: only IPv6 addresses contain a colon.
func isHostName(name string) bool {
	a, err := netip.ParseAddr(name)
	return pattern.IsName(name) && (!strings.Contains(name, ":") || err == nil && a.Is6())
}

func FuzzFold(f *testing.F) {
	for _, tt := range foldVectors {
		f.Add(tt.names)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names := strings.Fields(text)
		for _, name := range names {
			if !isHostName(name) || slices.Contains([]string{"other-host", "all", "ungrouped"}, name) {
				return
			}
		}
		requireFolds(t, names)
	})
}

func BenchmarkFold100000(b *testing.B) {
	for name, form := range map[string]func(i int) string{
		"one number":  func(i int) string { return fmt.Sprintf("web%06d.example.com", i) },
		"with gaps":   func(i int) string { return fmt.Sprintf("web%d", i*3) },
		"two numbers": func(i int) string { return fmt.Sprintf("rack%dnode%d", i/40, i%40) },
		"addresses":   func(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) },
		"without them": func(i int) string {
			return strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8", "i", "9", "j").Replace(fmt.Sprint(i))
		},
	} {
		names := make([]string, 100_000)
		for i := range names {
			names[(i*7919)%len(names)] = form(i) // in no order
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NotEmpty(b, pattern.Fold(names))
			}
		})
	}
}

func Example() {
	fmt.Println(pattern.Fold([]string{"web1", "web3", "web2", "db01"}))
	// Output: db01,web[1-3]
}
