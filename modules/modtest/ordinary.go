package modtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// nobody is the ID of the user and group that replace root in tests.
const nobody = 65534

// AsOrdinaryUser runs a test function as a user other than root, because permissions do not restrict root. If root runs
// the tests, a second process runs only this test. The test must do nothing else.
func AsOrdinaryUser(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Geteuid() != 0 {
		test(t)
		return
	}
	out, err := runAs(t, nobody)
	if errors.Is(err, fs.ErrPermission) {
		needs.Skip(t, fmt.Sprintf("user %d cannot run the test program here: %v", nobody, err))
	}
	require.NoError(t, err, "as user %d:\n%s", nobody, out)
}

// runAs runs the test t of this program again as another user, with a copy of the program in a separate folder.
func runAs(t *testing.T, id int) (out []byte, err error) {
	t.Helper()
	home, err := os.MkdirTemp("", "ordinary")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	program := filepath.Join(home, "tests")
	self, err := os.Executable()
	require.NoError(t, err)
	text, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, text, 0o700))
	require.NoError(t, errors.Join(os.Chown(program, id, id), os.Chown(home, id, id)))

	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.count=1", fmt.Sprintf("-test.short=%t", testing.Short()))
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "TMPDIR="+home, "HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}}
	return cmd.CombinedOutput()
}
