//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// everyFile lists all files of a host, except those that change by themselves.
const everyFile = `find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp/e2e -o -path /var/log -o -path /run/sudo -o -path /run/faillock \) -prune -o -print; find /run -name '*ccm*'`

// TestFleetClean runs everything that leaves files on a host, and finds none of them after clean.
func TestFleetClean(t *testing.T) {
	f := startFleet(t)
	f.sh("h001", "rm -rf /home/app/.cache /run/ccm-push; mkdir -p -m 700 /root/.cache /home/deploy/.cache; chown deploy: /home/deploy/.cache; "+
		"su deploy -s /bin/sh -c 'sudo -n true'") // sudo's own files are not ours
	before := f.sh("h001", everyFile)
	write(t, f.path("owing.yaml"), `
become: true
hosts: h001
ccm:
  resources:
    - exec:
        - changes: {command: "true"}
        - fails: {command: "false"}
        - follows: {command: "true", refreshonly: true, subscribe: ["exec#changes"], require: ["exec#fails"]}
`)
	write(t, f.path("own.yaml"), "hosts: h001\nccm: {resources: [{exec: [{one: {command: \"true\"}}]}]}\n")
	f.push("-i", "deploy.yaml", "owing.yaml").requireCode(t, 2)
	f.push("-i", "deploy.yaml", "own.yaml").requireCode(t, 0)
	f.push("-i", "deploy.yaml", "--become-user", "app", "h001", "exec", "true").requireCode(t, 0)

	r := f.push("-i", "deploy.yaml", "-b", "footprint", "h001")
	r.requireCode(t, 0)
	for _, path := range []string{"/root/.cache/ccm-push/", "/run/ccm-push/h001.lock", "/var/lib/ccm-push/refreshes.json", "/home/deploy/.cache/ccm-push/h001.lock"} {
		require.Contains(t, r.stdout, "  "+path+" ", r.stdout)
	}
	require.NotContains(t, r.stdout, "/home/app/")

	f.push("-i", "deploy.yaml", "-b", "clean", "h001", "--check").requireCode(t, 0)
	require.Equal(t, r.stdout, f.push("-i", "deploy.yaml", "-b", "footprint", "h001").stdout, "a check run has removed something")
	f.push("-i", "deploy.yaml", "-b", "--detailed-exitcode", "clean", "h001").requireCode(t, 8)
	f.push("-i", "deploy.yaml", "--become-user", "app", "clean", "h001").requireCode(t, 0)
	f.sh("h001", "rmdir /home/app/.cache")
	require.Equal(t, lines(before), lines(f.sh("h001", everyFile)))
	r = f.push("-i", "deploy.yaml", "-b", "--detailed-exitcode", "clean", "h001")
	r.requireCode(t, 0)
	require.Equal(t, "h001 as deploy: nothing\nh001 as root: nothing\n", r.stdout)
}

func lines(text string) []string { return strings.Split(text, "\n") }

// TestFleetCleanWaitsForNobody leaves a host alone on which a run is under way.
func TestFleetCleanWaitsForNobody(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("slow.yaml"), "become: true\nhosts: h001\nccm: {resources: [{exec: [{wait: {command: 'sh -c \"touch /tmp/e2e-runs; while test ! -e /tmp/e2e-go; do sleep 0.1; done\"'}}]}]}\n")
	running := pushCommand(t, f.dir, "-i", "deploy.yaml", "slow.yaml")
	require.NoError(t, running.Start())
	f.awaits("h001", "test -e /tmp/e2e-runs")
	r := f.push("-i", "deploy.yaml", "-b", "clean", "h001")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "; locked by ")
	require.Contains(t, r.stdout, ", so nothing is removed\n")
	require.True(t, f.holds("h001", "ls /root/.cache/ccm-push/*"))
	f.sh("h001", "touch /tmp/e2e-go")
	require.NoError(t, running.Wait())
	f.push("-i", "deploy.yaml", "-b", "clean", "h001").requireCode(t, 0)
	require.False(t, f.holds("h001", "test -e /root/.cache/ccm-push"))
}

// TestFleetCleanByOtherMethods uses methods that prompt on a terminal, too.
func TestFleetCleanByOtherMethods(t *testing.T) {
	f := startFleet(t)
	f.push("-i", "deploy.yaml", "-b", "h001", "exec", "true").requireCode(t, 0)
	for _, command := range []string{"footprint", "clean"} {
		r := f.push("-i", "deploy.yaml", "-b", "--become-method", "su", "--become-password-file", f.password("rootpw"), command, "h001")
		r.requireCode(t, 0)
		require.Contains(t, r.stdout, "h001 as root: 1 file, ")
	}
	r := f.push("-i", "deploy.yaml", "-b", "--become-method", "su", "--become-password-file", f.password("wrong"), "clean", "h001")
	r.requireCode(t, 2)
	require.Contains(t, r.stderr, "su: Authentication failure")
	require.Equal(t, "h001 as deploy: nothing\n", r.stdout)
}
