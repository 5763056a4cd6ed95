//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const driftSite = `
- name: app
  hosts: s001
  ccm:
    resources:
      - file:
          - defaults: {owner: root, group: root, mode: "0644"}
          - /etc/e2e: {ensure: directory, mode: "0755"}
          - /etc/systemd/system/e2e-drift.service:
              content: "[Service]\nExecStart=/bin/sleep 1000\n"
          - /etc/e2e/drift.conf: {alias: conf, content: "level = {{ Data.level }}\n"}
      - service:
          - e2e-drift: {subscribe: [file#conf]}
`

// TestFleetDrift changes a file and stops a service between runs: both are drift, and the restart because of the file
// is not.
func TestFleetDrift(t *testing.T) {
	f := startServiceHost(t)
	write(t, f.path("site.yaml"), driftSite)
	f.sh("s001", "rm -rf /var/lib/ccm-push /etc/e2e")
	run := func(args ...string) string {
		t.Helper()
		r := f.push(append([]string{"-i", "root.yaml", "site.yaml"}, args...)...)
		r.requireCode(t, 0)
		return r.stdout
	}
	const file, service = `file#/etc/e2e/drift\.conf \(conf\)  `, `service#e2e-drift  `
	require.NotContains(t, run("-e", "level=1"), "drift)")
	require.Equal(t, "600 root\n", f.sh("s001", "stat -c '%a %U' /var/lib/ccm-push/applied.jsonl"))
	require.Contains(t, run("-e", "level=1", "--check"), "0 would change")

	f.sh("s001", "echo other > /etc/e2e/drift.conf; systemctl stop e2e-drift")
	told := run("-e", "level=1", "--check")
	require.Regexp(t, `would change  `+file+`would have updated the file: content; drift\n`, told)
	require.Regexp(t, `would change  `+service+`would have started.*; drift`, told)
	require.Contains(t, told, "2 would change (2 drift)")
	told = run("-e", "level=1")
	require.Regexp(t, `changed  `+file+`updated the file: content; drift\n`, told)
	require.Regexp(t, `changed  `+service+`started.*; drift`, told)

	f.sh("s001", "echo other > /etc/e2e/drift.conf")
	told = run("-e", "level=1", "--output", "json")
	require.Regexp(t, `"name":"/etc/e2e/drift.conf",.*"status":"changed",.*"cause":"drift"`, told)
	require.Regexp(t, `"name":"e2e-drift",.*"status":"changed",.*"cause":"notified"`, told)

	told = run("-e", "level=2", "--output", "json")
	require.Regexp(t, `"name":"/etc/e2e/drift.conf",.*"status":"changed",.*"cause":"intent"`, told)
	require.NotContains(t, told, `"drift"`)

	// A run as another user that becomes root uses root's notes, too.
	f.sh("s001", "echo other > /etc/e2e/drift.conf")
	r := f.push("-i", "deploy.yaml", "-b", "-e", "level=2", "site.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "2 changed (1 drift)")
	require.Regexp(t, `/var/lib/ccm-push/applied\.jsonl`, f.push("-i", "root.yaml", "footprint", "s001").stdout)
}
