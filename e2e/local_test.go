//go:build e2e

package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetLocal runs ccm-push on a host itself, which it reaches without SSH.
func TestFleetLocal(t *testing.T) {
	f := startFleet(t)
	for from, to := range map[string]string{programPath(t, "ccm-push"): "/tmp/e2e-push", moduleDir(t): "/tmp/e2e-mods"} {
		archive, err := exec.Command("tar", "-C", filepath.Dir(from), "-c", filepath.Base(from)).Output()
		require.NoError(t, err)
		into := f.command("exec", "h001", "sh", "-c", "cd /tmp && tar -x && mv "+filepath.Base(from)+" "+to)
		into.Stdin = bytes.NewReader(archive)
		out, err := into.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	f.sh("h001", "printf 'all: {hosts: {me: {connect: {connection: local}}}}\n' > /tmp/e2e-hosts.yaml; chmod -R a+rX /tmp/e2e-*; "+
		"(umask 077; echo rootpw > /tmp/e2e-root; echo deploypw > /tmp/e2e-own); chown deploypw /tmp/e2e-own /tmp/e2e-root")
	push := func(args string) string {
		return f.sh("h001", "su deploypw -s /bin/sh -c 'cd / && /tmp/e2e-push --module-dir /tmp/e2e-mods -i /tmp/e2e-hosts.yaml "+args+"' < /dev/null 2>&1 || true")
	}
	require.Contains(t, push("me exec \"id -un\""), "\ndeploypw\n")
	for _, how := range []string{
		"-b --become-password-file /tmp/e2e-own", "-b --become-method doas --become-password-file /tmp/e2e-own",
		"-b --become-method su --become-password-file /tmp/e2e-root",
	} {
		require.Contains(t, push(how+" me exec \"id -un; tty\""), "\nroot\nnot a tty\n", how)
		require.Contains(t, push(how+" footprint me"), "me as root: ", how)
	}
	require.Contains(t, push("-b me exec id"), "become: local: escalation refused: sudo: a password is required")
	require.Contains(t, push("-b --become-method su --become-password-file /tmp/e2e-own me exec id"), "become: local: escalation refused: su: Authentication failure")
	require.Contains(t, push("clean me"), "me as deploypw: 1 file")
	require.False(t, f.holds("h001", "test -e /home/deploypw/.cache/ccm-push"))
}
