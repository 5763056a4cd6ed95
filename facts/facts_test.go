package facts

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCollectors(t *testing.T) {
	for _, test := range []struct {
		name  string
		paths []string
		all   bool
		want  []string
	}{
		{"nothing mentioned", nil, false, []string{}},
		{"one", []string{"host.info.os"}, false, []string{Host}},
		{"top key alone", []string{"memory"}, false, []string{Memory}},
		{"in the order of Names, once each", []string{"cpu.info.0", "host.info", "cpu.info.#"}, false, []string{Host, CPU}},
		{"piped path", []string{"network|addresses"}, false, []string{Network}},
		{"custom fact", []string{"role", "hostile.info"}, false, []string{}},
		{"wildcard", []string{"ho*.info"}, false, Names()},
		{"modifier", []string{"@keys"}, false, Names()},
		{"whole tree", []string{""}, false, Names()},
		{"all", nil, true, Names()},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, Collectors(test.paths, test.all))
		})
	}
}

func ExampleCollectors() {
	fmt.Println(Collectors([]string{"network.default_ipv4", "host.info.platform", "role"}, false))
	// Output: [host network]
}

func FuzzCollectors(f *testing.F) {
	for _, path := range []string{"", "host.info.os", "network|addresses", "ho*.info", "@keys", "role", `a\.b`} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := Collectors([]string{path}, false)
		require.Subset(t, Names(), got)
		require.Equal(t, got, Collectors([]string{path, path}, false))
	})
}
