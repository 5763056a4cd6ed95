package inventory

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// mkfifo makes a pipe without a writer.
func mkfifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}

func TestLoadReadsAPipe(t *testing.T) {
	path := mkfifo(t)
	ended := make(chan error, 1)
	go func() { ended <- os.WriteFile(path, []byte("all: {hosts: {web1: }}"), 0) }()
	inv, err := Load(t.Context(), []string{path}, Options{})
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Equal(t, "web1", namesOf(inv.Hosts()))
}

// Without the end of the context these would wait for ever.
func TestLoadOfAPipeEndsWithTheContext(t *testing.T) {
	t.Run("without a writer", func(t *testing.T) {
		path := mkfifo(t)
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err := Load(ctx, []string{path}, Options{})
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("with a writer that writes nothing", func(t *testing.T) {
		path := mkfifo(t)
		writer, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		defer writer.Close()
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err = Load(ctx, []string{path}, Options{})
		require.EqualError(t, err, "reading the inventory: context canceled")
	})
	t.Run("that is not ours to write to", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may write to it")
		}
		path := mkfifo(t)
		require.NoError(t, os.Chmod(path, 0o400))
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err := Load(ctx, []string{path}, Options{})
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, os.Chmod(path, 0o600))
		writer, err := os.OpenFile(path, os.O_RDWR, 0) // ends a pending open
		require.NoError(t, err)
		require.NoError(t, writer.Close())
	})
}
