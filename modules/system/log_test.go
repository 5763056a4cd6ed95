package system

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLogNames has a log know whose name is on the disk: of no file that has taken the place of another, and of none
// in which nothing durable has been written.
func TestLogNames(t *testing.T) {
	log := &Log{Journal: Journal{t.TempDir(), "results.jsonl", maxLog}}
	named := func() bool {
		info, err := os.Stat(log.path())
		require.NoError(t, err)
		return os.SameFile(log.named, info)
	}
	require.NoError(t, log.Append([]byte("a\n"), false))
	require.False(t, named())
	for _, line := range []string{"b\n", "c\n"} {
		require.NoError(t, log.Append([]byte(line), true))
		require.True(t, named())
	}
	require.NoError(t, log.Append([]byte("d\n"), false))
	require.True(t, named())
	text, err := log.Read()
	require.NoError(t, err)
	require.Equal(t, "a\nb\nc\nd\n", string(text))

	require.NoError(t, log.Replace(nil))
	require.NoError(t, log.Append([]byte("e\n"), false)) // it may have the number of the removed file
	require.False(t, named())
	require.NoError(t, log.Append([]byte("f\n"), true))
	require.True(t, named())

	require.NoError(t, log.Replace([]byte("g\n")))
	require.NoError(t, log.Append([]byte("h\n"), false))
	require.False(t, named())
}
