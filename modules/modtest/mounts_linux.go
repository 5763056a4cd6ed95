package modtest

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// InMountNamespace runs the test of the caller again, in a mount namespace and a network namespace of its
// own: nothing that it mounts is seen outside of them, nor a setting of its network. It reports whether the caller is that second process. Tests of users
// other than root are skipped.
func InMountNamespace(t *testing.T) bool {
	t.Helper()
	const mark = "CCM_PUSH_TEST_NAMESPACE"
	if os.Getenv(mark) != "" {
		require.NoError(t, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
		return true
	}
	needs.Root(t, "only root can mount")
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	c.Env = append(os.Environ(), mark+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET}
	out, err := c.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		needs.Skip(t, "no mount namespace can be made here")
	}
	require.NoError(t, err, string(out))
	return false
}

// Tmpfs mounts a file system in memory, in a test that is [InMountNamespace].
func Tmpfs(t *testing.T, at string) {
	t.Helper()
	require.NoError(t, syscall.Mount("tmpfs", at, "tmpfs", 0, "mode=755"))
	t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
}

// Bind mounts a path at another one, in a test that is [InMountNamespace].
func Bind(t *testing.T, from, at string) {
	t.Helper()
	require.NoError(t, syscall.Mount(from, at, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
}

// ReadOnlyBind is [Bind], read-only.
func ReadOnlyBind(t *testing.T, from, at string) {
	t.Helper()
	Bind(t, from, at)
	require.NoError(t, syscall.Mount("", at, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}

// Flag sets a flag of chattr(1), such as "+i", until the test ends.
func Flag(t *testing.T, flag, path string) {
	t.Helper()
	needs.Program(t, "chattr")
	out, err := exec.CommandContext(t.Context(), "chattr", flag, "--", path).CombinedOutput()
	if err != nil {
		needs.Skip(t, "no flag can be set here: "+string(out))
	}
	t.Cleanup(func() { _ = exec.Command("chattr", "-ia", "--", path).Run() })
}
