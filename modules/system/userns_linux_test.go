package system_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/system"
)

// TestIDsOfAUserNamespace gives files to ids inside and outside of a container's user namespace.
func TestIDsOfAUserNamespace(t *testing.T) {
	const mark, last = "CCM_PUSH_TEST_USER_NAMESPACE", 999
	if os.Getenv(mark) == "" {
		needs.Root(t, "only root can map so many ids")
		self, err := os.Executable()
		require.NoError(t, err)
		c := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
		c.Env = append(os.Environ(), mark+"=1")
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: last + 1}}
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids}
		out, err := c.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
			needs.Skip(t, "no user namespace can be made here")
		}
		require.NoError(t, err, string(out))
		return
	}
	files := system.New().Files
	file := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, id := range []int{0, 1, last, last + 1, 70_000} {
		for _, a := range []modules.Attributes{{UID: id, GID: -1, Mode: 0o600}, {UID: -1, GID: id, Mode: 0o600}} {
			real := os.Chown(file, a.UID, a.GID)
			for _, err := range []error{files.MayCreate(a), files.MaySetAttributes(file, a)} {
				require.Equal(t, real == nil, err == nil, "%+v: %v, %v", a, real, err)
				if err != nil {
					require.ErrorIs(t, real, syscall.EINVAL)
					require.ErrorIs(t, err, fs.ErrPermission)
					require.ErrorIs(t, err, modules.ErrKernelRefuses)
				}
			}
		}
	}
	require.EqualError(t, files.MayCreate(modules.Attributes{UID: 70_000, GID: -1}), "user 70000 is not in the user namespace of this host (/proc/self/uid_map), so no file can be given to it")
}
