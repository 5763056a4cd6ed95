//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// drainSite is the example of docs/guide/between-hosts.md, below folders that tests clean.
func drainSite(t *testing.T) string {
	page, err := os.ReadFile("../docs/guide/between-hosts.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "`drain.yaml`:\n\n```yaml\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "```")
	return strings.NewReplacer("/usr/local/sbin/", "/tmp/e2e-bin/", "/srv/app/", "/tmp/e2e-app/").Replace(text)
}

// balancer writes the hosts of the example, and programs that log their calls with the time, which is the same on all
// hosts.
func (f *fleet) balancer() {
	f.Helper()
	config := "all:\n  vars: {version: one}\n  children: {web: {hosts: {web1: {}, web2: {}}}}\n  hosts:\n"
	for i, name := range []string{"lb1", "web1", "web2"} {
		for line := range strings.Lines(f.tool("inventory", "--user", "deploy")) {
			if _, connect, ok := strings.Cut(line, hosts[i]+":"); ok {
				config += fmt.Sprintf("    %s: %s\n", name, strings.TrimSpace(connect))
			}
		}
		f.sh(hosts[i], `mkdir /tmp/e2e-bin /tmp/e2e-app
for p in lbctl app-restart; do
	printf '#!/bin/sh\necho $(date +%%s%%N) $(id -un) '$p' "$@" >>/tmp/e2e-log\n' >/tmp/e2e-bin/$p
	chmod 755 /tmp/e2e-bin/$p
done`)
	}
	write(f, f.path("balancer.yaml"), config)
}

// logged returns the logs of the programs on all hosts, in order, without the times.
func (f *fleet) logged() (lines []string) {
	f.Helper()
	for i, name := range []string{"lb1", "web1", "web2"} {
		for line := range strings.Lines(f.sh(hosts[i], "cat /tmp/e2e-log 2>/dev/null || true; rm -f /tmp/e2e-log")) {
			at, what, _ := strings.Cut(strings.TrimSpace(line), " ")
			lines = append(lines, at+" "+name+": "+what)
		}
	}
	slices.Sort(lines) // of one length
	for i, line := range lines {
		_, lines[i], _ = strings.Cut(line, " ")
	}
	return lines
}

// TestFleetElsewhere takes one web server after the other from a load balancer, which is in no play.
func TestFleetElsewhere(t *testing.T) {
	f := startFleet(t)
	f.balancer()
	write(t, f.path("drain.yaml"), drainSite(t))
	run := func(code int, args ...string) map[string]event {
		r := f.push(append([]string{"-i", "balancer.yaml", "--output", "json"}, append(args, "drain.yaml")...)...)
		r.requireCode(t, code)
		return outcomes(r.events(t))
	}
	predicted := run(0, "--check")
	require.Empty(t, f.logged(), "a check run has done something")
	real := run(0)
	f.requireForetold(predicted, real)
	require.Equal(t, "lb1", real["web tier web1 exec#drain"].On)
	require.Empty(t, real["web tier web1 exec#restart"].On)
	require.Equal(t, []string{
		"lb1: root lbctl drain web1", "web1: root app-restart", "lb1: root lbctl undrain web1",
		"lb1: root lbctl drain web2", "web2: root app-restart", "lb1: root lbctl undrain web2",
	}, f.logged())

	// A host that cannot be drained stays unchanged, and the run ends before the other one.
	f.sh(hosts[0], "rm /tmp/e2e-bin/lbctl")
	real = run(2, "-e", "version=two")
	require.Equal(t, "failed", real["web tier web1 exec#drain"].Status)
	require.Equal(t, "skipped", real["web tier web1 file#/tmp/e2e-app/version"].Status)
	require.Len(t, real, 4)
	require.Empty(t, f.logged())
	require.Equal(t, "one\n", f.sh(hosts[1], "cat /tmp/e2e-app/version"))

	// So it is if the load balancer is not there.
	config, err := os.ReadFile(f.path("balancer.yaml"))
	require.NoError(t, err)
	gone := strings.Replace(string(config), f.address("0.11")+", port: 22", f.address("0.11")+", port: 1", 1)
	require.NotEqual(t, string(config), gone)
	write(t, f.path("balancer.yaml"), gone)
	real = run(2, "-e", "version=two")
	require.Equal(t, "failed", real["web tier web1 exec#drain"].Status)
	require.Contains(t, real["web tier web1 exec#drain"].Error, "lb1: ")
	require.Equal(t, "one\n", f.sh(hosts[1], "cat /tmp/e2e-app/version"))
}
