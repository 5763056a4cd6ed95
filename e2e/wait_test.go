//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetWait waits on a host for its sshd, for the effect of a process, and for something that never comes. An undo
// has nothing to do for it.
func TestFleetWait(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("wait.yaml"), `name: wait
hosts: h001
ccm:
  resources:
    - exec: [begin: {command: "(sleep 2; echo ready >/run/e2e-ready) >/dev/null 2>&1 &", provider: shell, creates: /run/e2e-ready, returns: [0]}]
    - wait:
        - sshd listens: {port: 22}
        - it is ready: {path: /run/e2e-ready, line: "^ready$", timeout: 30s, interval: 200ms}
        - nothing listens: {port: 1, ensure: absent}
`)
	f.sh("h001", "rm -f /run/e2e-ready")
	r := f.push("-i", "root.yaml", "--check", "wait.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "4 resources: 1 would change, 3 stable; predictions: 0 certain, 1 likely, 3 unknown")

	r = f.push("-i", "root.yaml", "wait.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "4 resources: 1 changed, 3 stable")
	require.Equal(t, "ready\n", f.sh("h001", "cat /run/e2e-ready"))

	r = f.push("-i", "root.yaml", "--detailed-exitcode", "wait.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "0 changed, 4 stable")

	r = f.push("-i", "root.yaml", "h001", "wait", "a port", "port=1", "timeout=1s")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "timed out after 1s: waited for port 1 of 127.0.0.1: dial tcp 127.0.0.1:1: connect: connection refused")
}
