//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFleetChainsAndRefreshes: a chain of requirements holds through apply, and a run of a part of a manifest
// loses no refresh.
func TestFleetChainsAndRefreshes(t *testing.T) {
	f := startFleet(t)
	if !strings.Contains(f.tool("status"), "s001\t") {
		f.tool("up", "1", "--systemd")
		t.Cleanup(func() { f.tool("down", "s001") })
	}
	write(t, f.path("root.yaml"), f.tool("inventory"))
	write(t, f.path("child.yaml"), `ccm: {resources: [{exec: [{install: {command: touch /srv/installed, require: [exec#setup]}}]}]}`)
	write(t, f.path("chain.yaml"), `
- hosts: s001
  ccm:
    resources:
      - exec: [{setup: {command: /bin/false}}]
      - apply: [{child.yaml: {}}]
      - exec: [{start: {command: touch /srv/started, require: ["apply#child.yaml"]}}]
`)
	for _, flags := range [][]string{nil, {"--check"}} {
		f.push(append(flags, "-i", "root.yaml", "chain.yaml")...)
		require.Empty(t, strings.TrimSpace(f.sh("s001", "ls /srv | grep -x -e installed -e started || true")))
	}
	r := f.push("-i", "root.yaml", "chain.yaml")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "exec#install was skipped due to unmet requirement exec#setup")

	write(t, f.path("tag.yaml"), `
- hosts: s001
  data: {v: "1"}
  ccm:
    resources:
      - file: [{/srv/tag.conf: {alias: conf, content: "{{ Data.v }}\n", owner: root, group: root, mode: "0644", tags: [config]}}]
      - exec: [{restart: {provider: shell, command: "echo restarted >> /srv/restarts", refreshonly: true, subscribe: [file#conf]}}]
`)
	t.Cleanup(func() { f.sh("s001", "rm -f /srv/tag.conf /srv/restarts") })
	restarts := func(want int, flags ...string) {
		t.Helper()
		f.push(append(flags, "-i", "root.yaml", "tag.yaml")...).requireCode(t, 0)
		require.Equal(t, want, strings.Count(f.sh("s001", "cat /srv/restarts"), "restarted"))
	}
	restarts(1)
	restarts(2, "-t", "config", "-e", "v=2")
	restarts(2, "--skip-tags", "untagged", "-e", "v=3")
	restarts(3, "-e", "v=3")
	restarts(3, "-e", "v=3")
}

// TestFleetArmedStaysVisible: a change that is armed when the controller is killed and the host restarts is
// reported by a check run, which predicts the host after the revert. A watchdog that is killed is replaced.
func TestFleetArmedStaysVisible(t *testing.T) {
	f := startFleet(t)
	if !strings.Contains(f.tool("status"), "s001\t") {
		f.tool("up", "1", "--systemd")
		t.Cleanup(func() { f.tool("down", "s001") })
	}
	f.awaits("s001", "systemctl is-active multi-user.target")
	write(t, f.path("root.yaml"), f.tool("inventory"))
	write(t, f.path("armed.yaml"), `
- hosts: s001
  confirm_within: 20s
  ccm:
    resources:
      - file:
          - /etc/ssh/sshd_config.d/zz.conf: {content: "MaxAuthTries 7\n", owner: root, group: root, mode: "0644"}
          - /srv/armed: {content: "v1\n", owner: root, group: root, mode: "0644"}
      - exec: [{"sleep 25": {}}]
`)
	t.Cleanup(func() { f.sh("s001", "rm -f /etc/ssh/sshd_config.d/zz.conf /srv/armed") })
	cmd := pushCommand(t, f.dir, "-i", "root.yaml", "armed.yaml")
	out, err := os.Create(f.path("armed.out"))
	require.NoError(t, err)
	defer out.Close()
	cmd.Stdout = out
	printed := func() string {
		text, err := os.ReadFile(out.Name())
		require.NoError(t, err)
		return string(text)
	}
	require.NoError(t, cmd.Start())
	f.awaits("s001", "test -e /srv/armed && pgrep -f ' watchdog$'")
	first := strings.Fields(f.sh("s001", "pgrep -f ' watchdog$'"))[0]
	f.sh("s001", "kill -9 "+first)
	f.awaits("s001", "pgrep -f ' watchdog$' | grep -v -x "+first)
	require.Eventually(t, func() bool { // while the command runs
		return strings.Contains(printed(), "warning  the watchdog, which takes back changes that are not confirmed, had ended and was started again")
	}, 10*time.Second, 100*time.Millisecond)
	require.NotContains(t, printed(), "exec#sleep 25")

	// While the watchdog counts down.
	const armed = "are armed and not confirmed: "
	resources := "file#/etc/ssh/sshd_config.d/zz.conf, file#/srv/armed"
	r := f.push("-i", "root.yaml", "footprint", "s001")
	require.Regexp(t, armed+`the host takes them back unless that run confirms them within \d+s\n`, r.stdout)
	require.Contains(t, r.stdout, "    resources: "+resources)
	require.NotContains(t, r.stdout, "hint: ")
	r = f.push("-i", "root.yaml", "status", "s001", "file", "/srv/armed")
	require.Contains(t, r.stdout, "size: 3")
	require.Regexp(t, armed+`the host takes them back unless`, strings.Join(strings.Fields(r.stderr), " "))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()

	// The controller, the host program and the watchdog are killed.
	f.sh("s001", "pkill -9 -f ccm-push/[0-9a-f]; sleep 0.5")
	r = f.push("-i", "root.yaml", "footprint", "s001")
	require.Regexp(t, armed+"(no watchdog runs: unless that run confirms them within|the next run that applies)", r.stdout)

	f.tool("restart", "s001")
	time.Sleep(time.Second)
	f.awaits("s001", "systemctl is-active multi-user.target")

	require.Eventually(t, func() bool { // the network comes up late
		r = f.push("-i", "root.yaml", "footprint", "s001")
		return r.code == 0
	}, time.Minute, time.Second, r.stderr)
	require.Contains(t, r.stdout, armed+"the next run that applies takes them back first\n    armed at 2")
	require.Contains(t, r.stdout, "    resources: "+resources)
	require.Contains(t, r.stdout, "    hint: to take them back now, run as root: ccm-push 's001' exec true\n")
	r = f.push("-i", "root.yaml", "--output", "json", "footprint", "s001")
	require.Contains(t, r.stdout, `"watchdog":"no"`)
	require.Contains(t, r.stdout, `"left_ms":0`)
	r = f.push("-i", "root.yaml", "status", "s001", "file", "/srv/armed")
	require.Regexp(t, armed+`the next run that applies takes them back first \(`+resources+`(, exec#sleep 25)?\); armed at 2`, strings.Join(strings.Fields(r.stderr), " "))
	r = f.push("-i", "root.yaml", "--output", "json", "status", "s001", "file", "/srv/armed")
	require.Contains(t, r.stdout, armed+"the next run that applies")

	r = f.push("-i", "root.yaml", "--check", "armed.yaml")
	require.Contains(t, r.stdout, "are armed and not confirmed: the next run that applies takes them back first (file#/srv/armed, file#/etc/ssh/sshd_config.d/zz.conf)")
	require.Contains(t, r.stdout, "would change  file#/srv/armed")
	r = f.push("-i", "root.yaml", "-t", "all", "armed.yaml")
	require.Contains(t, r.stdout, "taken back  file#/srv/armed")
}

// TestFleetPredictsRefusals: a check run reports the change that a run refuses because the host could not revert it.
func TestFleetPredictsRefusals(t *testing.T) {
	f := startFleet(t)
	if !strings.Contains(f.tool("status"), "s001\t") {
		f.tool("up", "1", "--systemd")
		t.Cleanup(func() { f.tool("down", "s001") })
	}
	write(t, f.path("root.yaml"), f.tool("inventory"))
	write(t, f.path("refused.yaml"), `
- hosts: s001
  ccm:
    resources:
      - exec:
          - touch /etc/pam.d/fleet: {affects: [/etc/pam.d/fleet], creates: /etc/pam.d/fleet}
          - touch /srv/refused: {affects: [/srv/refused], creates: /srv/refused}
`)
	t.Cleanup(func() { f.sh("s001", "rm -f /etc/pam.d/fleet /srv/refused") })
	for _, flags := range [][]string{{"--check"}, nil} {
		r := f.push(append(flags, "-i", "root.yaml", "refused.yaml")...)
		r.requireCode(t, 2)
		require.Regexp(t, `(?s)exec#touch /etc/pam.d/fleet.*ccm-push could not revert the change`, r.stdout)
		require.Contains(t, r.stdout, "exec#touch /srv/refused")
	}
	require.Equal(t, "no", strings.TrimSpace(f.sh("s001", "test -e /etc/pam.d/fleet || echo no")))
	f.sh("s001", "test -e /srv/refused")
}
