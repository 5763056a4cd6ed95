package rooted

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSyncDir(t *testing.T) {
	dir, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, SyncDir(dir))
	require.NoError(t, dir.Close())
	require.Error(t, SyncDir(dir))
}

func TestUntilDone(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	r := UntilDone{ctx, strings.NewReader("text")}
	buf := make([]byte, 2)
	n, err := io.ReadFull(r, buf)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	end()
	_, err = r.Read(buf)
	require.ErrorIs(t, err, context.Canceled)
}

func TestCause(t *testing.T) {
	_, err := os.Open("/nothing/there")
	require.Equal(t, syscall.ENOENT, Cause(err))
	require.Equal(t, syscall.ENOENT, Cause(os.Rename("/nothing/there", "/nothing/here")))
	require.Equal(t, io.EOF, Cause(io.EOF))
}
