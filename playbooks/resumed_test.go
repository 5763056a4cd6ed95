package playbooks

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestLargeFileGoesOn loses the connection for good in the middle of a large file: the next run sends the missing part,
// and at most the bytes that were in transit in addition.
func TestLargeFileGoesOn(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	const size, cutAfter, underWay = 16 << 20, 10 << 20, 4 << 20 // in transit: buffers and windows of SSH, and of the network
	random := rand.NewChaCha8([32]byte{1})                       // which cannot be compressed
	file := make([]byte, size)
	_, err := random.Read(file)
	require.NoError(t, err)
	srv, home := sshtest.Start(t, sshtest.Outlive()), t.TempDir()
	play := func(after int64, properties string) (*cutter, *world) {
		t.Helper()
		c := between(t, srv, after, false, reset)
		w := newWorld(t, map[string]*sshtest.Server{"web1": srv}, `
- name: site
  ccm:
    resources:
      - file: [`+home+`/large: {mode: "0644", `+properties+`}]
`)
		require.NoError(t, os.WriteFile(filepath.Join(w.dir, "large"), file, 0o600))
		w.Options.NoLock, w.Options.Reconnect = false, 0
		_, _ = w.Run(t.Context(), nil) // the file shows the outcome
		return c, w
	}
	play(-1, `content: "small"`) // which brings the host program
	require.FileExists(t, filepath.Join(home, "large"))
	first, _ := play(cutAfter, "source: large")
	cut, err := os.ReadFile(filepath.Join(home, "large"))
	require.NoError(t, err)
	require.Equal(t, "small", string(cut), "a part has the name of the file")

	second, w := play(-1, "source: large")
	have, err := os.ReadFile(filepath.Join(home, "large"))
	require.NoError(t, err)
	require.True(t, string(file) == string(have), "other bytes; %s", w.text)
	sent := first.seen[0].Load() + second.seen[0].Load()
	t.Logf("%d bytes of a file of %d, cut behind %d and then the rest: %d", sent, size, first.seen[0].Load(), second.seen[0].Load())
	require.Less(t, sent, int64(size+underWay))
	require.Less(t, second.seen[0].Load(), int64(size-cutAfter+underWay))
}
