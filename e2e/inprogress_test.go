//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inProgressSite has two hosts enter a critical section with a semaphore.
const inProgressSite = `
- hosts: h001,h002
  strategy: graph
  max_fail_percentage: 100
  ccm:
    resources:
      - exec:
          - crit: {PROPERTY, provider: shell, command: "echo B $(date +%s%N) >>/tmp/e2e-crit; sleep 5; echo E $(date +%s%N) >>/tmp/e2e-crit"}
`

// crit returns the lines that the hosts have logged: the beginning and the end of their critical sections.
func (f *fleet) crit() (lines map[string][]string) {
	lines = map[string][]string{}
	for _, host := range []string{"h001", "h002"} {
		lines[host] = strings.Split(strings.TrimSpace(f.sh(host, "cat /tmp/e2e-crit 2>/dev/null || true")), "\n")
	}
	return lines
}

// inside waits for the host that is inside first.
func (f *fleet) inside() (host string) {
	require.Eventually(f, func() bool {
		for _, host = range []string{"h001", "h002"} {
			if f.holds(host, "test -e /tmp/e2e-crit") {
				return true
			}
		}
		return false
	}, time.Minute, 50*time.Millisecond, "no host has begun")
	return host
}

// TestFleetSemaphoreIsKept loses the connection, the host program and the controller of a host that holds a semaphore: no
// other host enters before it has left.
func TestFleetSemaphoreIsKept(t *testing.T) {
	for name, lose := range map[string]func(f *fleet, holder string, kill func()){
		"connection": func(f *fleet, holder string, _ func()) {
			f.tool("exec", holder, "ip", "link", "set", "eth0", "down")
			time.Sleep(4 * time.Second)
			f.tool("exec", holder, "ip", "link", "set", "eth0", "up")
		},
		"host program": func(f *fleet, holder string, _ func()) { f.sh(holder, "pkill -9 -f 'serv[e] '") },
		"controller":   func(_ *fleet, _ string, kill func()) { kill() },
	} {
		t.Run(name, func(t *testing.T) {
			f := startFleet(t)
			write(t, f.path("site.yaml"), strings.Replace(inProgressSite, "PROPERTY", "sema: [db]", 1))
			run := pushCommand(t, f.dir, "-i", "root.yaml", "--idle-timeout", "3s", "site.yaml")
			require.NoError(t, run.Start())
			holder := f.inside()
			killed := false
			lose(f, holder, func() {
				killed = true
				require.NoError(t, run.Process.Kill())
			})
			err := run.Wait()
			if killed {
				require.Error(t, err)
				f.push("resume").requireCode(t, 0)
			}
			var at [2][2]int64
			for i, host := range []string{"h001", "h002"} {
				lines := f.crit()[host]
				require.Len(t, lines, 2, "%s: %q", host, lines)
				_, err := fmt.Sscanf(lines[0]+" "+lines[1], "B %d E %d", &at[i][0], &at[i][1])
				require.NoError(t, err)
			}
			require.True(t, at[0][1] < at[1][0] || at[1][1] < at[0][0], "both were inside: %v", at)
		})
	}
}

// TestFleetOnceOfALostHost cuts off the host that runs what runs once: no other host runs it, and resume fetches its result.
func TestFleetOnceOfALostHost(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("site.yaml"), strings.Replace(inProgressSite, "PROPERTY", "once: true", 1))
	run := pushCommand(t, f.dir, "-i", "root.yaml", "--idle-timeout", "3s", "--reconnect", "2s", "site.yaml")
	require.NoError(t, run.Start())
	holder := f.inside()
	f.tool("exec", holder, "ip", "link", "set", "eth0", "down")
	err := run.Wait()
	f.tool("exec", holder, "ip", "link", "set", "eth0", "up")
	require.Error(t, err)
	f.awaits(holder, "grep -q E /tmp/e2e-crit")
	began := func() int {
		lines := f.crit()
		return strings.Count(strings.Join(append(lines["h001"], lines["h002"]...), "\n"), "B ")
	}
	require.Equal(t, 1, began())
	f.push("resume").requireCode(t, 0)
	require.Equal(t, 1, began())
}
