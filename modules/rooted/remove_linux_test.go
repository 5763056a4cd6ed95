package rooted_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// TestRemoveTreeAndMounts removes a tree in which something is mounted: nothing is removed.
func TestRemoveTreeAndMounts(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	for name, test := range map[string]struct {
		mount func(t *testing.T, root string)
		err   string
	}{
		"a tmpfs": {func(t *testing.T, root string) {
			modtest.Tmpfs(t, root+"/d/in")
			require.NoError(t, os.WriteFile(root+"/d/in/precious", nil, 0o600))
		}, "$ROOT/d has file systems mounted in it: $ROOT/d/in; unmount them first"},
		"a directory of the same file system": {func(t *testing.T, root string) {
			modtest.Bind(t, root+"/keep", root+"/d/in")
		}, "$ROOT/d has file systems mounted in it: $ROOT/d/in; unmount them first"},
		"a file": {func(t *testing.T, root string) {
			modtest.ReadOnlyBind(t, root+"/keep/f", root+"/d/f")
		}, "$ROOT/d has file systems mounted in it: $ROOT/d/f (read-only); unmount them first"},
		"the path itself": {func(t *testing.T, root string) {
			modtest.Bind(t, root+"/keep", root+"/d")
		}, "$ROOT/d is a mount point; unmount it first"},
		"two, one above the other": {func(t *testing.T, root string) {
			modtest.Bind(t, root+"/keep", root+"/d/in")
			modtest.Bind(t, root+"/keep", root+"/d/in")
			modtest.Bind(t, root+"/keep", root+"/d/in/deep")
		}, "$ROOT/d has file systems mounted in it: $ROOT/d/in, $ROOT/d/in/deep; unmount them first"},
		"through another path of the tree": {func(t *testing.T, root string) {
			modtest.Bind(t, root+"/d", root+"/bound")
			modtest.Bind(t, root+"/keep", root+"/bound/in/deep")
		}, "$ROOT/d has file systems mounted in it: $ROOT/bound/in/deep; unmount them first"},
		"its parent is a mount": {func(t *testing.T, root string) {
			modtest.Bind(t, root, root)
		}, ""},
		"nothing": {func(*testing.T, string) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, []modtest.Node{
				{Path: "d", Dir: true}, {Path: "d/f", Text: "x"}, {Path: "d/in", Dir: true}, {Path: "d/in/deep", Dir: true}, {Path: "d/in/deep/f", Text: "x"}, {Path: "d/out", Link: "../keep"},
				{Path: "keep", Dir: true}, {Path: "keep/f", Text: "x"}, {Path: "keep/deep", Dir: true}, {Path: "bound", Dir: true},
			})
			test.mount(t, root)
			before, kept := modtest.Snapshot(t, root), modtest.Snapshot(t, root+"/keep")
			dir, err := os.OpenRoot(root)
			require.NoError(t, err)
			defer dir.Close()
			err = rooted.RemoveTree(dir, "d")
			require.Equal(t, kept, modtest.Snapshot(t, root+"/keep"))
			if test.err == "" {
				require.NoError(t, err)
				require.NoDirExists(t, root+"/d")
				return
			}
			require.EqualError(t, err, os.Expand(test.err, func(string) string { return root }))
			_, ok := err.(*modules.MountedError)
			require.True(t, ok)
			require.Equal(t, before, modtest.Snapshot(t, root))
		})
	}
}

// TestRemoveTreeOfManyNames removes more names than one read of a directory returns.
func TestRemoveTreeOfManyNames(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(root+"/d", 0o755))
	for i := range 3000 {
		require.NoError(t, syscall.Mknod(root+"/d/"+string(rune('a'+i%26))+string(rune(0x4e00+i)), syscall.S_IFREG|0o600, 0))
	}
	dir, err := os.OpenRoot(root)
	require.NoError(t, err)
	defer dir.Close()
	require.NoError(t, rooted.RemoveTree(dir, "d"))
	require.NoError(t, rooted.RemoveTree(dir, "d"), "what is not there is no error")
	require.NoDirExists(t, root+"/d")
}

// TestRemoveTreeMeetsAMount mounts after the list of mounts was read: another process of the namespace may do so at any
// moment. The mounted files are kept.
func TestRemoveTreeMeetsAMount(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{{Path: "d", Dir: true}, {Path: "d/in", Dir: true}, {Path: "keep", Dir: true}, {Path: "keep/f", Text: "x"}})
	modtest.Bind(t, root+"/keep", root+"/d/in")
	dir, err := os.Open(root)
	require.NoError(t, err)
	defer dir.Close()
	require.EqualError(t, rooted.RemoveListedTree(dir, "d", root+"/d"), root+"/d/in is a mount point; unmount it first")
	require.FileExists(t, root+"/keep/f")
}
