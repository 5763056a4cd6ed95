//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetListen runs the tests of modules/listen on a host, where systemd is real, root may mount
// and the file system is an overlay.
func TestFleetListen(t *testing.T) {
	f := startCronHost(t)
	program := filepath.Join(t.TempDir(), "listen.test")
	cmd := exec.Command("go", "test", "-c", "-o", program, "../modules/listen")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	f.send("s001", program, "/root/listen.test")
	said := f.sh("s001", "cd / && TMPDIR=/var/tmp /root/listen.test -test.v -test.timeout 2m -test.run 'Edits|Mounts|Overflow|Systemd|Writers'; rm /root/listen.test")
	require.NotContains(t, said, "FAIL", said)
	require.Contains(t, said, "--- PASS: TestSystemd", said)
}
