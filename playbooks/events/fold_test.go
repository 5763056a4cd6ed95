package events_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

func TestFold(t *testing.T) {
	for _, test := range []struct {
		hosts []string
		width int
		want  string
		rest  int
	}{
		{[]string{"fra01", "fra02", "fra03"}, 80, "fra[01-03]", 0},
		{[]string{"fra01", "fra02", "fra03"}, 1, "fra01", 2},
		{[]string{"b", "a", "c"}, 3, "a,b", 1},
		{[]string{"a-long-name"}, 1, "a-long-name", 0},
	} {
		pattern, rest := events.Fold(test.hosts, test.width)
		require.Equal(t, test.want, pattern)
		require.Equal(t, test.rest, rest)
	}
}

// The pattern stands for the first hosts, whole, and is not too wide.
func TestFoldLaw(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	inv, err := inventory.Parse("hosts.yml", []byte("all: {hosts: {\"web[0:199]\": , \"db[0:199]\": }}"))
	require.NoError(t, err)
	for range 500 {
		var hosts []string
		for _, n := range r.Perm(200)[:1+r.IntN(60)] {
			hosts = append(hosts, fmt.Sprintf("%s%d", []string{"web", "db"}[r.IntN(2)], n))
		}
		width := r.IntN(200)
		folded, rest := events.Fold(hosts, width)
		shown := hosts[:len(hosts)-rest]
		selected, warnings, err := inv.Select(folded)
		require.NoError(t, err)
		require.Empty(t, warnings)
		var names []string
		for _, h := range selected {
			names = append(names, h.Name)
		}
		require.ElementsMatch(t, shown, names)
		require.True(t, utf8.RuneCountInString(folded) <= width || len(shown) == 1, "%q in %d", folded, width)
	}
}
