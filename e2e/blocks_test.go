//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// blocksSite deploys what only works when there is a file called ready.
const blocksSite = `
- hosts: s001
  strategy: STRATEGY
  ccm:
    fail_on_error: true
    resources:
      - file: [/srv/blocks-e2e: {ensure: directory, mode: "0755"}]
      - name: deploy
        user: nobody
        require: [file#/srv/blocks-e2e]
        block:
          - file: [/srv/blocks-e2e/version: {alias: new, content: "new\n", mode: "0644"}]
          - exec:
              - as nobody: {provider: shell, command: test "$(id -un)" = nobody}
              - is it ready: {command: test -e /srv/blocks-e2e/ready, require: [file#new]}
              - announce: {command: touch /run/blocks-e2e-announced, user: root, require: [exec#is it ready]}
        rescue:
          - file: [/srv/blocks-e2e/version: {alias: old, content: "old\n", mode: "0644"}]
        always:
          - exec: [note: {command: touch /run/blocks-e2e-noted, creates: /run/blocks-e2e-noted, user: root}]
      - file: [/srv/blocks-e2e/after: {content: "after\n", require: [block#deploy]}]
`

// TestFleetBlocks has a deployment fail on a real host, in a list and in a graph: the rescue runs, all certain
// predictions come true, and undo reverts the changes.
func TestFleetBlocks(t *testing.T) {
	f := startFleet(t)
	if !strings.Contains(f.tool("status"), "s001\t") {
		f.tool("up", "1", "--systemd")
		t.Cleanup(func() { f.tool("down", "s001") })
	}
	write(t, f.path("root.yaml"), f.tool("inventory"))
	t.Cleanup(func() { f.sh("s001", "rm -rf /srv/blocks-e2e /run/blocks-e2e* /root/.cache") })
	for _, strategy := range []string{"linear", "graph"} {
		f.sh("s001", "rm -rf /srv/blocks-e2e /run/blocks-e2e* /root/.cache")
		write(t, f.path("blocks.yaml"), strings.ReplaceAll(blocksSite, "STRATEGY", strategy))
		run := func(code int, flags ...string) map[string]string {
			r := f.push(append([]string{"-i", "root.yaml", "--output", "json", "-l", "s001", "blocks.yaml"}, flags...)...)
			r.requireCode(t, code)
			all := map[string]string{}
			for _, e := range r.events(t) {
				if e.Event == "result" {
					name := e.Type + "#" + strings.ReplaceAll(e.Name, "/srv/blocks-e2e/", "")
					if _, twice := all[name]; twice {
						name += " again"
					}
					all[name] = e.Status
				}
			}
			return all
		}
		check := run(0, "--check")
		require.Equal(t, "skipped", check["file#version again"], strategy)
		rescued := run(0)
		require.Equal(t, map[string]string{
			"file#/srv/blocks-e2e": "changed", "file#version": "changed", "exec#as nobody": "changed", "exec#is it ready": "rescued",
			"exec#announce": "skipped", "file#version again": "changed", "exec#note": "changed", "block#deploy": "changed", "file#after": "changed",
		}, rescued, strategy)
		require.Equal(t, "old\n", f.sh("s001", "cat /srv/blocks-e2e/version"), strategy)

		r := f.push("-i", "root.yaml", "undo", "last", "--yes")
		r.requireCode(t, 0)
		require.Equal(t, "", f.sh("s001", "ls /srv/blocks-e2e 2>/dev/null || true"), strategy)

		f.sh("s001", "mkdir -p /srv/blocks-e2e; touch /srv/blocks-e2e/ready")
		ready := run(0)
		require.Equal(t, "skipped", ready["file#version again"], strategy)
		require.Equal(t, "changed", ready["exec#announce"], strategy)
		require.Equal(t, "new\n", f.sh("s001", "cat /srv/blocks-e2e/version"), strategy)
	}
}
