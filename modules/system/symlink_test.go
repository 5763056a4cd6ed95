package system

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSymlink(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(path("file"), []byte("x"), 0o644))
	require.NoError(t, os.Symlink("old", path("link")))
	require.NoError(t, os.Mkdir(path("dir"), 0o755))
	h := New()
	for _, name := range []string{"new", "file", "link"} {
		require.NoError(t, h.Files.Symlink(t.Context(), path(name), "../nothing here"))
		target, err := os.Readlink(path(name))
		require.NoError(t, err)
		require.Equal(t, "../nothing here", target)
	}
	err := h.Files.Symlink(t.Context(), path("dir"), "x")
	require.ErrorIs(t, err, syscall.EISDIR)
	require.EqualError(t, err, "link "+path("dir")+": is a directory")
	require.ErrorIs(t, h.Files.Symlink(t.Context(), path("none/link"), "x"), os.ErrNotExist)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 4, "no temporary name stays")
}
