//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetSession has calls that depend on each other, on two hosts with different results.
func TestFleetSession(t *testing.T) {
	f := startFleet(t)
	f.sh("h002", "touch /tmp/e2e-stop")
	call := func(code int, args ...string) run {
		t.Helper()
		r := f.push(append([]string{"-i", "root.yaml", "--session", "nightly"}, args...)...)
		r.requireCode(t, code)
		return r
	}
	call(0, "h001", "file", "/tmp/e2e-conf", "content=one")
	call(2, "--alias", "ready", "h001,h002", "exec", "test ! -e /tmp/e2e-stop")
	call(0, "--require", "exec#ready", "h001,h002", "file", "/tmp/e2e-migrated", "content=yes")
	call(0, "--subscribe", "file#/tmp/e2e-conf", "h001,h002", "exec", "echo >>/tmp/e2e-restarts")
	call(0, "--check", "--subscribe", "file#/tmp/e2e-conf", "h001", "exec", "echo >>/tmp/e2e-restarts")
	r := f.push("session", "report", "--session", "nightly")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "h002  skipped  file#/tmp/e2e-migrated  because of exec#ready")
	require.Regexp(t, `h001: 4 changed, 0 stable \(`, r.stdout)
	require.Regexp(t, `h002: 0 changed, 1 stable, 1 failed, 1 skipped \(failed: `, r.stdout)
	require.True(t, f.holds("h001", "test -e /tmp/e2e-migrated && test $(wc -l </tmp/e2e-restarts) = 1"))
	require.True(t, f.holds("h002", "test ! -e /tmp/e2e-migrated && test ! -e /tmp/e2e-restarts"))
}
