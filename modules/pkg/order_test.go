package pkg

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// pairs is the number of version pairs with which each order is compared with its tool.
var pairs = flag.Int("pairs", 4000, "pairs of versions to compare with dpkg, rpm and vercmp")

// ordered is a pair of versions and their order.
type ordered struct {
	a     string
	order int
	b     string
}

func TestOrders(t *testing.T) {
	for name, test := range map[string]struct {
		compare func(a, b string) int
		pairs   []ordered
	}{
		"dpkg": {compareDpkg, []ordered{
			{"1.0", 0, "1.00"},
			{"1.0", 0, "1.0-0"},
			{"1.0", 0, "0:1.0"},
			{"1.0-1", 0, "1.0-01"},
			{"1.01", 0, "1.1"},
			{"1.0~rc1", -1, "1.0"},
			{"1.0~~", -1, "1.0~"},
			{"1.0a", -1, "1.0+"},
			{"1.0.a", 1, "1.0a"},
			{"1.z", 1, "1.10"},
			{"1.9", -1, "1.10"},
			{"1:0", 1, "0:9"},
			{"2:1.0", -1, "10:0.1"},
			{"1.0-1-1", 1, "1.0-1"},
			{"1.0-1~bpo12+1", -1, "1.0-1"},
			{"1.0-1+deb12u9", -1, "1.0-1+deb12u10"},
			{"0~20240131123456", -1, "0~20240131123457"},
			{"20000000000000000001", -1, "20000000000000000002"},
		}},
		"rpm": {compareRPM, []ordered{
			{"1.0-1", 0, "1.0-1"},
			{"1.05-1", 0, "1.5-1"},
			{"1_0-1", 0, "1.0-1"},
			{"1.0~rc1-1", -1, "1.0-1"},
			{"1.0^git1-1", 1, "1.0-1"},
			{"1.0^git1-1", -1, "1.0.1-1"},
			{"1.a-1", -1, "1.0-1"},
			{"10xyz-1", -1, "10.1xyz-1"},
			{"1.0.ALPHA-1", -1, "1.0.alpha-1"},
			{"1.0-9", -1, "1.0-10"},
			{"2.0-1", -1, "1:1.0-1"},
			{"2:1.0-1", -1, "10:1.0-1"},
		}},
		"pacman": {compareAlpm, []ordered{
			{"1.0-1", 0, "1.0"},
			{"1.0", 0, "0:1.0"},
			{"1.05-1", 0, "1.5-1"},
			{"1.0rc-1", -1, "1.0-1"},
			{"1.0a", -1, "1.0.1"},
			{"1.0.", -1, "1.0.1"},
			{"1.0", -1, "1..0"},
			{"1.0-9", -1, "1.0-10"},
			{"2.0-1", -1, "1:1.0-1"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range test.pairs {
				require.Equal(t, p.order, sign(test.compare(p.a, p.b)), "%s to %s", p.a, p.b)
				require.Equal(t, -p.order, sign(test.compare(p.b, p.a)), "%s to %s", p.b, p.a)
			}
		})
	}
}

func sign(order int) int {
	switch {
	case order < 0:
		return -1
	case order > 0:
		return 1
	}
	return 0
}

func TestSameForRPM(t *testing.T) {
	for _, test := range []struct {
		have, wanted string
		want         bool
	}{
		{"5.8-1.el9", "5.8", true},
		{"5.8-1.el9", "5.8-1.el9", true},
		{"1:5.8-1.el9", "5.8", true},
		{"1:5.8-1.el9", "5.8-1.el9", true},
		{"1:5.8-1.el9", "1:5.8", true},
		{"5.8-1.el9", "5.9", false},
		{"5.8-1.el9", "5.8-2.el9", false},
		{"5.8-1.el9", "1:5.8", false},
	} {
		order, err := rpmdb{}.against(t.Context(), test.have, test.wanted)
		require.NoError(t, err)
		require.Equal(t, test.want, order == 0, "%s is %s", test.have, test.wanted)
	}
}

// TestSuits checks that each manager compares by its own order: a revision counts for dpkg, and for rpm and pacman a
// bound without a release matches any.
func TestSuits(t *testing.T) {
	for _, test := range []struct {
		version, ensure    string
		apt, rpmdb, pacman bool
	}{
		{"1.2-1", ">= 1.2", true, true, true},
		{"1.2-1", "> 1.2", true, false, false},
		{"1.2-1", "<= 1.2", false, true, true},
		{"1.2-1", "= 1.2", false, true, true},
		{"1.2-1", "!=1.2-1", false, false, false},
		{"1.2-1", ">= 1.2, < 2", true, true, true},
		{"2.0-1", ">= 1.2,< 2", false, false, false},
		{"2~rc1-1", ">= 1.2, < 2", true, true, false}, // pacman knows no tilde
		{"1:0.9-1", "< 1", false, true, false},
		{"0.9-1", "< 1:1", true, true, true},
		{"1.3-1", "> 1.2, != 1.3-1", false, false, false},
	} {
		for m, want := range map[judge]bool{apt{}: test.apt, rpmdb{}: test.rpmdb, pacman{}: test.pacman} {
			ok, err := wanted(test.ensure).suits(t.Context(), m, test.version)
			require.NoError(t, err)
			require.Equal(t, want, ok, "%T: %s is %s", m, test.version, test.ensure)
		}
	}
}

// A maker makes versions from the parts that are hard to compare.
type maker struct {
	*rand.Rand
	tokens   []string
	revision bool // text after a dash is a part of its own
}

var (
	tokens = []string{
		"0", "00", "1", "01", "9", "10", "99", "20240131123456", "20000000000000000001", "20000000000000000002",
		"a", "b", "Z", "z", "rc", "alpha", "ALPHA", "git", "dfsg", "deb12u", ".", "..", "+", "~", "~~",
	}
	tokensOfRPM    = append([]string{"^", "^^", "_"}, tokens...)
	tokensOfPacman = append([]string{"_", "_r"}, tokens...)
)

func (m maker) part() string {
	var b strings.Builder
	for range m.IntN(5) {
		b.WriteString(m.tokens[m.IntN(len(m.tokens))])
	}
	return b.String()
}

func (m maker) version() string {
	v := fmt.Sprint(m.IntN(3)) + m.part()
	if m.revision && m.IntN(6) == 0 {
		v = fmt.Sprint(m.IntN(3), ":") + v
	}
	if m.revision && m.IntN(2) == 0 {
		v += fmt.Sprint("-", m.IntN(2)) + m.part()
	}
	return v
}

// pair makes two versions, most of which are nearly the same.
func (m maker) pair() [2]string {
	a := m.version()
	at := strings.IndexByte(a, ':') + 2 // keep the epoch, and the digits at the start of the version
	at += m.IntN(len(a) - at + 1)
	switch m.IntN(4) {
	case 0:
		return [2]string{a, m.version()}
	case 1:
		return [2]string{a, a[:at] + m.part() + a[at:]}
	case 2:
		if at < len(a)-1 && a[at] != '-' && a[at-1] != '-' {
			return [2]string{a, a[:at] + a[at+1:]}
		}
	}
	return [2]string{a, strings.TrimSuffix(a[:at], "-") + m.part()}
}

// TestOrdersAreThoseOfTheTools compares the order of generated pairs with the order of the tools.
func TestOrdersAreThoseOfTheTools(t *testing.T) {
	for name, test := range map[string]struct {
		program string
		maker   maker
		compare func(a, b string) int
		ask     func(t *testing.T, pairs [][2]string) string // -1, 0 or 1 a line
	}{
		"dpkg":   {"dpkg", maker{tokens: tokens, revision: true}, compareDpkg, askDpkg},
		"rpm":    {"rpm", maker{tokens: tokensOfRPM}, compareRPM, askRPM},
		"pacman": {"vercmp", maker{tokens: tokensOfPacman, revision: true}, compareAlpm, askVercmp},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs.Program(t, test.program)
			test.maker.Rand = rand.New(rand.NewPCG(uint64(*pairs), 7))
			var list [][2]string
			number := *pairs
			if testing.Short() {
				number /= 10
			}
			for range number {
				list = append(list, test.maker.pair())
			}
			said := strings.Fields(test.ask(t, list))
			require.Len(t, said, len(list))
			for i, p := range list {
				require.Equal(t, said[i], strconv.Itoa(sign(test.compare(p[0], p[1]))), "%s to %s", p[0], p[1])
			}
		})
	}
}

// askInShell runs a script with a pair per line on its standard input.
func askInShell(t *testing.T, pairs [][2]string, script string) string {
	t.Helper()
	var input strings.Builder
	for _, p := range pairs {
		fmt.Fprintln(&input, p[0], p[1])
	}
	cmd := exec.Command("/bin/sh", "-c", "while read -r a b; do "+script+"; done")
	cmd.Stdin, cmd.Stderr = strings.NewReader(input.String()), os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

func askDpkg(t *testing.T, pairs [][2]string) string {
	return askInShell(t, pairs, "if dpkg --compare-versions $a lt $b; then echo -1; elif dpkg --compare-versions $a eq $b; then echo 0; else echo 1; fi")
}

func askVercmp(t *testing.T, pairs [][2]string) string {
	return askInShell(t, pairs, "vercmp $a $b")
}

func askRPM(t *testing.T, pairs [][2]string) string {
	var script strings.Builder
	for _, p := range pairs {
		fmt.Fprintf(&script, "print(rpm.vercmp(%q,%q)..' ')\n", p[0], p[1])
	}
	file := filepath.Join(t.TempDir(), "compare.lua")
	require.NoError(t, os.WriteFile(file, []byte(script.String()), 0o644))
	out, err := exec.Command("rpm", "--eval", fmt.Sprintf("%%{lua: dofile(%q)}", file)).Output()
	require.NoError(t, err)
	return string(out)
}

// TestOrderIsAnOrder checks the laws of an order: a swapped pair has the opposite result, and lower is transitive.
// (pacman's is not an order: it ignores the release if one version has none.)
func TestOrderIsAnOrder(t *testing.T) {
	for name, test := range map[string]struct {
		maker   maker
		compare func(a, b string) int
	}{
		"dpkg": {maker{tokens: tokens, revision: true}, compareDpkg},
		"rpm":  {maker{tokens: tokensOfRPM, revision: true}, compareRPM},
	} {
		t.Run(name, func(t *testing.T) {
			test.maker.Rand = rand.New(rand.NewPCG(7, 7))
			for range 5000 {
				p := test.maker.pair()
				isOrder(t, test.compare, []string{p[0], p[1], test.maker.version()})
			}
		})
	}
}

func isOrder(t *testing.T, compare func(a, b string) int, versions []string) {
	t.Helper()
	for _, a := range versions {
		for _, b := range versions {
			order := sign(compare(a, b))
			require.Equal(t, -order, sign(compare(b, a)), "%q", versions)
			for _, c := range versions {
				if order <= 0 && compare(b, c) <= 0 {
					require.LessOrEqual(t, compare(a, c), 0, "%q", versions)
				}
			}
		}
	}
}

// FuzzOrders checks that all orders keep their laws for any input.
func FuzzOrders(f *testing.F) {
	f.Add("1:1.0~rc1-2", "1.0+dfsg-1")
	f.Add("1.0^git1-1", "1.0_1")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, compare := range []func(a, b string) int{compareDpkg, compareRPM, compareAlpm} {
			require.Zero(t, compare(a, a))
			if versionCharacters().MatchString(a) && versionCharacters().MatchString(b) {
				order := sign(compare(a, b))
				require.Contains(t, []int{order, -order, 0}, sign(compare(b, a)))
			}
		}
		require.Equal(t, -sign(compareDpkg(a, b)), sign(compareDpkg(b, a)))
	})
}
