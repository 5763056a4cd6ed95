package knownhosts

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyFilesAreReplaced has what is no file in the place of one, as /dev/null may
// be for root: another file in its place would be bad for the whole machine.
func TestOnlyFilesAreReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	require.EqualError(t, appendWhole(f, "web1 ssh-ed25519 AAAA\n"), "it is no regular file")
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, fs.ModeNamedPipe, info.Mode().Type())
}
