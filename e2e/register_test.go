//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
)

// registerSite has a service that a file of the first stage restarts in the last one, and what
// depends on what commands have printed in between.
const registerSite = `
- name: app
  hosts: s001
  data: {level: info}
  ccm:
    resources:
      - file:
          - defaults: {owner: root, group: root, mode: "0644"}
          - /etc/e2e: {ensure: directory, mode: "0755"}
          - /etc/systemd/system/e2e-register.service:
              alias: unit
              content: "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStartPre=/bin/sh -c 'echo start >> /run/e2e-register'\nExecStart=/bin/sleep 1000\n"
          - /etc/e2e/register.conf: {alias: conf, content: "level = {{ Data.level }}\n"}
      - exec:
          - look: {provider: shell, command: "cut -d' ' -f3 /etc/e2e/register.conf", readonly: true, register: level}
          - migrate:
              provider: shell
              command: "echo {{ Results.level.stdout_trimmed }} >> /run/e2e-migrated; wc -l < /run/e2e-migrated"
              control: {unless: Results.level.stdout_trimmed == 'none'}
              unless: "grep -qx '{{ Results.level.stdout_trimmed }}' /run/e2e-migrated"
              register: migrated
      - service:
          - e2e-register:
              ensure: running
              subscribe: [file#unit, file#conf]
              control: {unless: Results.migrated.failed}
`

// TestFleetRegister takes a play in three stages to a host: a conditional on what a command has
// printed, and a service that restarts once for a file of an earlier stage, also when the
// connection breaks anywhere between.
func TestFleetRegister(t *testing.T) {
	f := startServiceHost(t)
	write(t, f.path("site.yaml"), registerSite)
	f.sh("s001", "rm -rf /var/lib/ccm-push /etc/e2e /run/e2e-*")
	r := f.push("-i", "root.yaml", "-e", "level=none", "site.yaml")
	r.requireCode(t, 0)
	require.Equal(t, "start\n", f.sh("s001", "cat /run/e2e-register"))
	f.sh("s001", "test ! -e /run/e2e-migrated")

	// A check run knows what a command prints that only looks, unless that may be another thing then.
	r = f.push("-i", "root.yaml", "-e", "level=none", "--check", "site.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "0 would change, 5 stable, 1 skipped")
	r = f.push("-i", "root.yaml", "-e", "level=one", "--check", "site.yaml")
	r.requireCode(t, 0)
	require.Regexp(t, `would change  exec#migrate  depends on the result of exec#look, which a check run does not know; maybe`, r.stdout)

	address := f.address("1.11") + ":22"
	uncut, err := faultproxy.Listen(address)
	require.NoError(t, err)
	push := func(port int, level string) run {
		return f.push("-i", f.behind("s001", port), "-e", "level="+level, "--reconnect", "60", "--lock-timeout", "60", "site.yaml")
	}
	f.sh("s001", "rm -f /run/e2e-register")
	push(uncut.Port(), "uncut").requireCode(t, 0)
	passed := uncut.Passed(0, faultproxy.FromServer)
	require.NoError(t, uncut.Close())
	require.Equal(t, "uncut\n", f.sh("s001", "cat /run/e2e-migrated"))
	require.Equal(t, "start\n", f.sh("s001", "cat /run/e2e-register"))

	// The host sends the results of a stage in one packet; its last packets are the results of three stages, and the
	// end. If several results share a packet, the first cuts are before the catalog. After a cut that follows the
	// login, the controller dials the host again. After an earlier cut, the host is unreachable and unchanged, and the
	// next run must change it.
	for back := range 6 {
		fault := faultproxy.Fault{Kind: faultproxy.Cut, Direction: faultproxy.FromServer, Packets: passed.Packets - back}
		t.Run(fault.String(), func(t *testing.T) {
			f := f.in(t)
			p, err := faultproxy.Listen(address, fault)
			require.NoError(t, err)
			defer p.Close()
			f.sh("s001", "rm -f /run/e2e-register /run/e2e-migrated")
			level := "cut-" + string(rune('a'+back))
			r := push(p.Port(), level)
			if r.code == 4 {
				require.GreaterOrEqual(t, back, 3, r.stdout)
				f.sh("s001", "test ! -e /run/e2e-migrated && test ! -e /run/e2e-register")
				r = push(p.Port(), level)
			}
			r.requireCode(t, 0)
			require.Equal(t, level+"\n", f.sh("s001", "cat /run/e2e-migrated"), r.stdout)
			require.Equal(t, "start\n", f.sh("s001", "cat /run/e2e-register"), r.stdout)
		})
	}
	r = f.push("-i", "root.yaml", "-e", "level=cut-f", "site.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "0 changed")
}
