package workers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFolder has a worker find the folders of others, leftover or locked.
func TestFolder(t *testing.T) {
	parent := t.TempDir()
	in := func(f *folder) string { return filepath.Join(f.path, "key") }
	make := func() *folder {
		f, err := newFolder(parent)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(in(f), []byte("secret"), 0o600))
		return f
	}
	killed, held := make(), make()
	require.FileExists(t, in(killed), "its process lives")
	require.NoError(t, killed.held.Close()) // as the kernel does
	others := filepath.Join(parent, "ccm-push-others")
	require.NoError(t, os.Mkdir(others, 0o700))
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(parent, folderPrefix+"link")))

	removeLeft(parent)
	require.NoDirExists(t, killed.path)
	require.FileExists(t, in(held))
	require.DirExists(t, others)
	require.DirExists(t, outside)

	require.NoError(t, held.remove())
	require.NoDirExists(t, held.path)
}
