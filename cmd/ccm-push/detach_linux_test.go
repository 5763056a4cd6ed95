package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// TestDetachedFromATerminal enters a password on a terminal, which w.end closes after the run has left it: the run
// continues.
func TestDetachedFromATerminal(t *testing.T) {
	a := pushAlone(t, "true", "exec ccm-push --ssh-config=none -K -i hosts.yaml --detach site.yaml")
	w := &watched{alone: a}
	var err error
	w.terminal, err = pty.StartWithSize(w.cmd, &pty.Winsize{Rows: 24, Cols: 200})
	require.NoError(t, err)
	w.follow()
	w.shows("password")
	require.False(t, a.exists("began"))
	_, err = w.terminal.WriteString("hunter2\n")
	require.NoError(t, err)
	screen, status := w.end()
	require.Equal(t, 0, status, screen)
	require.Contains(t, screen, " continues as process ")
	require.NotContains(t, screen, "hunter2")
	a.begins()
	a.awaits("second")
	runs := filepath.Join(a.dir, "home/.local/state/ccm-push/runs/0*")
	require.Eventually(t, func() bool {
		ends, err := filepath.Glob(filepath.Join(runs, "end.json"))
		return err == nil && len(ends) == 1
	}, time.Minute, 20*time.Millisecond)
	for _, name := range []string{"run.json", "events.jsonl", "stderr.txt"} {
		files, err := filepath.Glob(filepath.Join(runs, name))
		require.NoError(t, err)
		require.Len(t, files, 1)
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.NotContains(t, string(text), "hunter2")
		if name == "stderr.txt" {
			require.Empty(t, string(text))
		}
	}
}
