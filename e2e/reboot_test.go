//go:build e2e

package e2e

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const rebootSite = `
- name: updates
  hosts: HOST
  ccm:
    resources:
      - file: [/var/tmp/e2e-before: {content: "before\n", alias: before}]
      - reboot: [updates: {WHEN}]
      - file: [/run/e2e-after: {content: "after\n"}]
`

// TestFleetReboot restarts hosts of both families during a run, because of a resource or of a notification. The run
// continues after that, and reports each resource once.
func TestFleetReboot(t *testing.T) {
	lease := leaseFleet(t)
	for host, of := range map[string]struct {
		kind []string
		when string
	}{
		"s001":  {[]string{"--systemd"}, "timeout: 5m"},
		"rs001": {[]string{"--systemd", "--rpm"}, `when: notified, timeout: 5m, subscribe: ["file#before"]`},
	} {
		t.Run(host, func(t *testing.T) {
			f := lease.in(t)
			f.dir = t.TempDir()
			if !strings.Contains(f.tool("status"), host+"\t") {
				f.tool(append([]string{"up", "1"}, of.kind...)...)
				t.Cleanup(func() { f.tool("down", host) })
			}
			f.awaits(host, "systemctl is-active multi-user.target")
			write(t, f.path("root.yaml"), f.tool("inventory"))
			t.Cleanup(func() { f.sh(host, "rm -f /var/tmp/e2e-before /run/reboot-required /run/e2e-after") })
			f.restarts(host, strings.NewReplacer("HOST", host, "WHEN", of.when).Replace(rebootSite))
		})
	}
}

// restarts plays the site, and starts the host again when it has gone down.
func (f *fleet) restarts(host, site string) {
	f.Helper()
	f.sh(host, "rm -f /var/tmp/e2e-before /run/e2e-after; touch /run/reboot-required")
	write(f, f.path("reboot.yaml"), site)
	boot := func() string { return f.sh(host, "cat /proc/sys/kernel/random/boot_id") }
	before := boot()
	args := []string{"-i", "root.yaml", "--output", "json", "reboot.yaml"}
	check := f.push(append([]string{"--check"}, args...)...)
	check.requireCode(f, 0)
	predicted := outcomes(check.events(f))
	of := func(resource string) string { return "updates " + host + " " + resource }
	require.Equal(f, "changed", predicted[of("reboot#updates")].Status)
	require.Equal(f, before, boot(), "a check run has started it again")

	cmd := pushCommand(f, f.dir, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(f, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	down := func() bool {
		for line := range strings.Lines(f.tool("status")) {
			if strings.HasPrefix(line, host+"\t") && strings.Contains(line, "\tdead") {
				return true
			}
		}
		return false
	}
	require.Eventually(f, func() bool { return len(ended) > 0 || down() }, 2*time.Minute, 50*time.Millisecond, "%s does not go down", host)
	select {
	case err := <-ended:
		require.Fail(f, "the run has ended", "%v: %s%s", err, &stdout, &stderr)
	default:
	}
	f.tool("restart", host)
	require.NoError(f, <-ended, "%s%s", &stdout, &stderr)
	f.Logf("%s", &stdout)
	require.NotEqual(f, before, boot())
	require.Equal(f, "before\nafter\n", f.sh(host, "cat /var/tmp/e2e-before /run/e2e-after; test ! -e /run/reboot-required; test ! -e /var/lib/ccm-push/reboot.json"))
	require.Equal(f, 1, strings.Count(stdout.String(), `"event":"reconnect"`))
	require.Equal(f, 3, strings.Count(stdout.String(), `"event":"result"`), "each is told once")
	first := outcomes(run{stdout: stdout.String()}.events(f))
	f.requireForetold(predicted, first)
	for _, resource := range []string{"file#/var/tmp/e2e-before", "reboot#updates", "file#/run/e2e-after"} {
		require.Equal(f, "changed", first[of(resource)].Status, resource)
	}
	again := f.push(args...)
	again.requireCode(f, 0)
	for resource, e := range outcomes(again.events(f)) {
		require.Equal(f, "stable", e.Status, resource)
	}
}
