package system

import (
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
	capability  = "security.capability"
)

// acl is an access list: what the owner, user 7, the owning group, the mask and others may.
func acl(owner, user7, group, mask, others byte) string {
	const none = "\xff\xff\xff\xff"
	return "\x02\x00\x00\x00" +
		"\x01\x00" + string(owner) + "\x00" + none +
		"\x02\x00" + string(user7) + "\x00" + "\x07\x00\x00\x00" +
		"\x04\x00" + string(group) + "\x00" + none +
		"\x10\x00" + string(mask) + "\x00" + none +
		"\x20\x00" + string(others) + "\x00" + none
}

// netRaw is cap_net_raw=ep, as linux/capability.h has revision 2.
const netRaw = "\x01\x00\x00\x02" + "\x00\x20\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// give sets an extended attribute, or skips the test where the file system has none.
func give(t *testing.T, path, name, value string) {
	t.Helper()
	err := unix.Setxattr(path, name, []byte(value), 0)
	if err == unix.ENOTSUP && os.Getenv("CI") == "" {
		t.Skipf("NOT TESTED: the file system of %s has no %s", path, name)
	}
	require.NoError(t, err, name)
}

func get(t *testing.T, path, name string) string {
	t.Helper()
	value := make([]byte, 4096)
	n, err := unix.Getxattr(path, name, value)
	if err == unix.ENODATA {
		return "none"
	}
	require.NoError(t, err, name)
	return string(value[:n])
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Sys().(*syscall.Stat_t).Ino
}

// TestWriteHandsOnXattrs replaces a file by one with the same attributes, whose access list agrees with its mode.
func TestWriteHandsOnXattrs(t *testing.T) {
	for _, tc := range []struct {
		name string
		a    modules.Attributes
		mode fs.FileMode
		acl  string
	}{
		{"the mode that it had", modules.Attributes{UID: -1, GID: -1, KeepMode: true}, 0o660, acl(6, 6, 0, 6, 0)},
		{"another mode", keepOwner(0o740), 0o740, acl(7, 6, 0, 4, 0)},
		{"one that nobody writes to", keepOwner(0o440), 0o440, acl(4, 6, 0, 4, 0)},
		{"one for nobody else", keepOwner(0o600), 0o600, acl(6, 6, 0, 0, 0)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
			give(t, path, accessList, acl(6, 6, 0, 6, 0))
			give(t, path, "user.origin", "a\x00b")
			give(t, path, "user.empty", "")
			give(t, path, "user.a=b", "=")
			old := inodeOf(t, path)
			require.NoError(t, newFiles().Write(t.Context(), path, strings.NewReader("new"), tc.a))
			require.NotEqual(t, old, inodeOf(t, path), "it is another file")
			info, err := newFiles().Stat(path)
			require.NoError(t, err)
			require.Equal(t, tc.mode, info.Mode)
			require.Equal(t, hex.EncodeToString([]byte(tc.acl)), hex.EncodeToString([]byte(get(t, path, accessList))))
			require.Equal(t, "a\x00b", get(t, path, "user.origin"))
			require.Empty(t, get(t, path, "user.empty"))
			require.Equal(t, "=", get(t, path, "user.a=b"))
		})
	}
}

// TestWriteWithoutTheDefaultList keeps a file without an access list from one by its directory.
func TestWriteWithoutTheDefaultList(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
	give(t, dir, defaultList, acl(7, 7, 7, 7, 7))
	require.NoError(t, newFiles().Write(t.Context(), path, strings.NewReader("new"), keepOwner(0o640)))
	require.Equal(t, "none", get(t, path, accessList))
	require.NoError(t, newFiles().Write(t.Context(), path+"2", strings.NewReader("new"), keepOwner(0o640)))
	require.Equal(t, acl(6, 7, 7, 4, 0), get(t, path+"2", accessList), "a new file has that of its directory")
}

// TestCopyHandsOnXattrs: without its list, the group of the copy would have the permissions of the mask.
func TestCopyHandsOnXattrs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	give(t, path, accessList, acl(6, 6, 0, 6, 0))
	require.NoError(t, newFiles().Copy(t.Context(), path, path+"~"))
	require.Equal(t, acl(6, 6, 0, 6, 0), get(t, path+"~", accessList))
}

// TestWriteDropsCapabilities also drops what another owner has said of the file.
func TestWriteDropsCapabilities(t *testing.T) {
	needs.Root(t, "only root gives capabilities, and files to others")
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o755))
	give(t, path, capability, netRaw)
	give(t, path, "trusted.x", "y")
	require.NoError(t, newFiles().Write(t.Context(), path, strings.NewReader("new"), keepOwner(0o755)))
	require.Equal(t, "none", get(t, path, capability))
	require.Equal(t, "y", get(t, path, "trusted.x"))

	require.NoError(t, os.Chown(path, 7, 7))
	give(t, path, accessList, acl(7, 6, 0, 6, 0))
	require.NoError(t, newFiles().Write(t.Context(), path, strings.NewReader("secret"), modules.Attributes{Mode: 0o640}))
	require.Equal(t, "none", get(t, path, accessList), "who had the file could read it now")
	require.Equal(t, "none", get(t, path, "trusted.x"))
}

// TestXattrs restores the attributes that it has read, whatever has replaced them.
func TestXattrs(t *testing.T) {
	dir := t.TempDir()
	was, is := filepath.Join(dir, "was"), filepath.Join(dir, "is")
	require.NoError(t, os.Mkdir(was, 0o700))
	require.NoError(t, os.Mkdir(is, 0o700))
	give(t, was, accessList, acl(7, 7, 5, 7, 0))
	give(t, was, defaultList, acl(7, 5, 5, 5, 0))
	give(t, was, "user.a", "1")
	give(t, is, "user.a", "2")
	give(t, is, "user.b", "2")
	f := newFiles()
	info, err := f.Stat(was)
	require.NoError(t, err)
	xattrs, err := f.Xattrs(was, info)
	require.NoError(t, err)
	require.Contains(t, xattrs, "user.a=31")
	require.Contains(t, xattrs, accessList+"="+hex.EncodeToString([]byte(acl(0, 7, 5, 0, 0))), "the mode says the rest")
	require.NoError(t, f.SetAttributes(t.Context(), is, modules.Attributes{Mode: 0o750, UID: -1, GID: -1, Exact: true, Xattrs: xattrs}))
	require.NoError(t, f.MakeDir(t.Context(), filepath.Join(is, "new"), modules.Attributes{Mode: 0o750, UID: -1, GID: -1, Exact: true, Xattrs: xattrs}))
	for _, path := range []string{is, filepath.Join(is, "new")} {
		require.Equal(t, acl(7, 7, 5, 5, 0), get(t, path, accessList))
		require.Equal(t, acl(7, 5, 5, 5, 0), get(t, path, defaultList))
		require.Equal(t, "1", get(t, path, "user.a"))
		require.Equal(t, "none", get(t, path, "user.b"))
	}
	require.NoError(t, f.SetAttributes(t.Context(), is, modules.Attributes{Mode: 0o700, UID: -1, GID: -1, Xattrs: []string{}}))
	require.Equal(t, "none", get(t, is, accessList))
	require.Equal(t, "none", get(t, is, defaultList))

	info.Mode = 0o600
	_, err = f.Xattrs(was, info)
	require.ErrorIs(t, err, errExchanged)
	_, err = f.Xattrs(filepath.Join(dir, "none"), info)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
