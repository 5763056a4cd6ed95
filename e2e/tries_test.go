//go:build e2e

package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// triesSite has what succeeds with the third try, what takes too long until it is tried
// again, and what never succeeds. Each notes when it was tried.
const triesSite = `strategy: graph
ccm:
  resources:
    - exec:
        - defaults: {provider: shell}
        - third:
            command: cut -d' ' -f1 /proc/uptime >>/tmp/e2e-third; test $(wc -l </tmp/e2e-third) -ge 3 && touch /tmp/e2e-third-done
            creates: /tmp/e2e-third-done
            retry: 4
            delay: 300ms
        - late:
            command: test -e /tmp/e2e-late && touch /tmp/e2e-late-done || { touch /tmp/e2e-late; exec sleep 4711; }
            creates: /tmp/e2e-late-done
            retry: 1
            timeout: 1s
        - limited:
            command: cut -d' ' -f1 /proc/uptime >>/tmp/e2e-limited; test $(wc -l </tmp/e2e-limited) -ge 3 && touch /tmp/e2e-limited-done
            creates: /tmp/e2e-limited-done
            retry: 2
            limit: 2
        - never: {command: "echo no >&2; exit 1", creates: /tmp/e2e-never, retry: 2, delay: 1ms, tags: [hopeless]}
`

// TestFleetTries has resources be tried again on a real host, in a run that a check run
// goes before and one that changes nothing follows.
func TestFleetTries(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("tries.yaml"), triesSite)
	run := func(code int, args ...string) map[string]event {
		r := f.push(append([]string{"-i", "root.yaml", "-l", "h001", "--output", "json"}, append(args, "tries.yaml")...)...)
		r.requireCode(t, code)
		return outcomes(r.events(t))
	}
	predicted := run(0, "--check", "--skip-tags", "hopeless")
	require.False(t, f.holds("h001", "ls /tmp/e2e-*"))
	real := run(0, "--skip-tags", "hopeless")
	f.requireForetold(predicted, real)
	for name, tries := range map[string]int{"third": 3, "late": 2, "limited": 3} {
		e := real["tries h001 exec#"+name]
		require.Equal(t, "changed", e.Status, name)
		require.Equal(t, tries, e.Tries, name)
	}
	require.False(t, f.holds("h001", "pgrep -f '[s]leep 4711'"), "what was late still runs")
	times := strings.Fields(f.sh("h001", "cat /tmp/e2e-third"))
	require.Len(t, times, 3)
	var before float64
	for i, text := range times {
		at, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		if i > 0 {
			require.GreaterOrEqual(t, at-before, 0.28, "%v", times) // in hundredths, of which one may be lost
		}
		before = at
	}
	for name, e := range run(0, "--skip-tags", "hopeless") {
		require.Equal(t, "stable", e.Status, name)
	}
	e := run(2)["tries h001 exec#never"]
	require.Equal(t, "failed", e.Status)
	require.Equal(t, 3, e.Tries)
	require.Equal(t, "failed to reach desired state: exit code 1 not in allowed returns [0]: no", e.Error)
}
