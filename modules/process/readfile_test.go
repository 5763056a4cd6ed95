package process

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadFile reads up to the limit, and does not wait for a pipe.
func TestReadFile(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "small"), []byte("text"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "sparse"), nil, 0o600))
	require.NoError(t, os.Truncate(filepath.Join(folder, "sparse"), 1<<40))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(folder, "zero")))
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	text, err := ReadFile(root.FS(), "small", 4)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
	text, err = ReadFile(root.FS(), "sparse", 4)
	require.ErrorIs(t, err, ErrTooLong)
	require.Len(t, text, 4)
	for name, want := range map[string]string{"pipe": "it is not a regular file", "zero": "escapes", ".": "it is not a regular file", "none": "no such file"} {
		_, err := ReadFile(root.FS(), name, 4)
		require.ErrorContains(t, err, want, name)
	}
}
