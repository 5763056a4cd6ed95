package pkg

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/system"
)

func judgeOf(t *testing.T, program string, make func(access) manager) judge {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		Unable(t, program+" is not here")
	}
	return make(access{Commands: system.New().Commands, program: program, lockWait: time.Second})
}

func TestOrderOfDpkg(t *testing.T) {
	j := judgeOf(t, "dpkg", func(a access) manager { return apt{a} })
	for _, test := range []struct {
		a     string
		order int
		b     string
	}{
		{"1.0", 0, "1.00"},
		{"1.0", 0, "1.0-0"},
		{"1.0", 0, "0:1.0"},
		{"1.0-1", 0, "1.0-01"},
		{"1.01", 0, "1.1"},
		{"1.0~rc1", -1, "1.0"},
		{"1.0a", -1, "1.0+"},
		{"1.0.a", 1, "1.0a"},
		{"1.9", -1, "1.10"},
		{"1:0", 1, "0:9"},
		{"1.0-1+deb12u9", -1, "1.0-1+deb12u10"},
		{"20000000000000000001", -1, "20000000000000000002"},
	} {
		holds(t, j, test.a, test.order, test.b)
	}
	_, err := j.order(t.Context(), "1:2:3:", "1 0")
	require.ErrorContains(t, err, "dpkg --compare-versions ended with exit code 2: ")
}

func TestOrderOfRPM(t *testing.T) {
	j := judgeOf(t, "rpm", func(a access) manager { return dnf{a} })
	for _, test := range []struct {
		a     string
		order int
		b     string
	}{
		{"1.0-1", 0, "1.0-1"},
		{"1.05-1", 0, "1.5-1"},
		{"1.0~rc1-1", -1, "1.0-1"},
		{"1.0^git1-1", 1, "1.0-1"},
		{"1.0^git1-1", -1, "1.0.1-1"},
		{"1.a-1", -1, "1.0-1"},
		{"10xyz-1", -1, "10.1xyz-1"},
		{"1.0.ALPHA-1", -1, "1.0.alpha-1"},
		{"1.0-9", -1, "1.0-10"},
		{"2.0-1", -1, "1:1.0-1"},
		{"2:1.0-1", -1, "10:1.0-1"},
	} {
		holds(t, j, test.a, test.order, test.b)
	}
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
		same, err := j.same(t.Context(), test.have, test.wanted)
		require.NoError(t, err)
		require.Equal(t, test.want, same, "%s is %s", test.have, test.wanted)
	}
	_, err := j.order(t.Context(), `1")os.exit("-1`, "2-1")
	require.EqualError(t, err, `"1\")os.exit(\"" or "2" is no version`)
}

// holds checks an order in both directions.
func holds(t *testing.T, j judge, a string, order int, b string) {
	t.Helper()
	got, err := j.order(t.Context(), a, b)
	require.NoError(t, err)
	require.Equal(t, order, got, "%s to %s", a, b)
	back, err := j.order(t.Context(), b, a)
	require.NoError(t, err)
	require.Equal(t, -order, back, "%s to %s", b, a)
}

// TestOrderIsAnOrder generates versions and requires of both orders what every
// order has: a swapped pair is the other way round, and one that is lower than a
// lower one is lower.
func TestOrderIsAnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	part := func() string {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteString([]string{"0", "1", "01", "10", "9", "a", "Z", "rc", ".", "+", "~", "20000000000000000001"}[r.IntN(12)])
		}
		return "1" + b.String()
	}
	for program, make := range map[string]func(access) manager{
		"dpkg": func(a access) manager { return apt{a} },
		"rpm":  func(a access) manager { return dnf{a} },
	} {
		t.Run(program, func(t *testing.T) {
			j := judgeOf(t, program, make)
			for range 40 {
				isOrder(t, j, []string{part() + "-" + part(), part() + "-" + part(), part() + "-" + part()})
			}
		})
	}
}

func isOrder(t *testing.T, j judge, versions []string) {
	t.Helper()
	orders := map[[2]int]int{}
	for i := range versions {
		for k := range versions {
			order, err := j.order(t.Context(), versions[i], versions[k])
			require.NoError(t, err)
			orders[[2]int{i, k}] = order
		}
	}
	for pair, order := range orders {
		i, k := pair[0], pair[1]
		require.Equal(t, -order, orders[[2]int{k, i}], "%q", versions)
		for l := range versions {
			if order <= 0 && orders[[2]int{k, l}] <= 0 {
				require.LessOrEqual(t, orders[[2]int{i, l}], 0, "%q", versions)
			}
		}
	}
}
