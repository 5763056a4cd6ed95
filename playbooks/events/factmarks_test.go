package events_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestFoldedFacts folds diffs that differ in facts of their hosts. The inventory names are not the hosts' own names.
func TestFoldedFacts(t *testing.T) {
	s := foldedFleet(1, 500, func(i int, host string) []events.Event {
		return []events.Event{with(file(host, "/etc/app.conf", events.Changed, "content"), func(r *events.Result) {
			name, ip := fmt.Sprintf("node-%d", i), fmt.Sprintf("10.0.%d.%d", i/250, i%250)
			r.Diff = fmt.Sprintf("--- /etc/app.conf\n+++ /etc/app.conf\n@@ -1 +1,2 @@\n name %s\n+listen %s on linux\n", name, ip)
			r.Facts = events.FactsIn(r.Diff, map[string]string{"host.info.hostname": name, "network.ip": ip, "host.info.os": "linux"})
			require.Len(t, r.Facts, 3)
		})}
	})
	for _, color := range []bool{false, true} {
		text := folded(s, events.TextOptions{Diff: true, Color: color})
		require.Less(t, strings.Count(text, "\n"), 30, text)
		require.Contains(t, text, "name {host.info.hostname}")
		require.Contains(t, text, "listen {network.ip} on linux")
		require.Contains(t, text, "{host.info.hostname}, {network.ip}: of each")
	}
}

// TestFactOfOneHost prints a diff of one host with its own values.
func TestFactOfOneHost(t *testing.T) {
	text := folded(foldedFleet(1, 5, func(i int, host string) []events.Event {
		return []events.Event{with(file(host, "/a", events.Changed, "content"), func(r *events.Result) {
			r.Diff = fmt.Sprintf("--- /a\n+++ /a\n@@ -1 +1 @@\n-%d\n+node-%d\n", i, i)
			r.Facts = events.FactsIn(r.Diff, map[string]string{"host.info.hostname": fmt.Sprint("node-", i)})
		})}
	}), events.TextOptions{Diff: true})
	for i := range 5 {
		require.Contains(t, text, fmt.Sprintf("+node-%d\n", i))
	}
	require.NotContains(t, text, "{")
}

func TestFactsIn(t *testing.T) {
	found := map[string]string{"name": "web", "short": "b", "long": strings.Repeat("a", events.MaxFactMark+1), "a path\n": "other", "os": "linux"}
	text := "web website b other linuxes " + found["long"]
	require.Equal(t, map[string]string{"name": "web"}, events.FactsIn(text, found))
	require.Nil(t, events.FactsIn("nothing", found))
	many := map[string]string{}
	for i := range 100 {
		many[fmt.Sprint("p", i)] = "value"
	}
	require.Len(t, events.FactsIn("a value", many), 16)
}
