package system

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

func TestOpenDirectory(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Symlink(root, filepath.Join(root, "self")))
	h := New()
	dir, err := h.Files.OpenDirectory(filepath.Join(root, "self"))
	require.NoError(t, err)
	defer dir.Close()
	require.NoError(t, dir.WriteFile("f", []byte("x"), 0o600))
	require.NoError(t, h.Files.Sync(dir))
	require.FileExists(t, filepath.Join(root, "f"))
	_, err = dir.Open("../x")
	require.Error(t, err)
	_, err = h.Files.OpenDirectory("relative")
	require.EqualError(t, err, `path "relative" is not absolute and clean`)
	_, err = modules.ReadOnly(h).Files.OpenDirectory(root)
	require.ErrorIs(t, err, modules.ErrReadOnly)
	require.ErrorIs(t, modules.ReadOnly(h).Files.Sync(dir), modules.ErrReadOnly)
}
