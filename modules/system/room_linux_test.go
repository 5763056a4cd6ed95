package system

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoom uses a path with missing folders, and a file system without blocks.
func TestRoom(t *testing.T) {
	dir := t.TempDir()
	in, free, ok := room(dir + "/file")
	require.True(t, ok)
	require.Positive(t, free)
	below, _, ok := room(dir + "/missing/deeper/file")
	require.True(t, ok)
	require.Equal(t, in, below)
	_, _, ok = room("/proc/self/file")
	require.False(t, ok)
}
