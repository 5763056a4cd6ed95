package session_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestResumeRunsCommandsOfLaterStagesOnce resumes a play in which a command of the first stage failed: the commands
// of the second stage that succeeded do not run again.
func TestResumeRunsCommandsOfLaterStagesOnce(t *testing.T) {
	dir := t.TempDir()
	at, log := filepath.Join(dir, "x"), filepath.Join(dir, "log")
	require.NoError(t, os.Mkdir(at, 0o700))
	registers := with(command("true", ""), func(e *wire.Entry) { e.Register = true })
	first := []wire.Entry{command("exit 1", ""), registers}
	second := append(first, command("echo done >> "+log, ""), command("echo failed >> "+log+"; exit 1", ""), command("echo guarded >> "+log, `"unless":"false"`),
		with(command("echo required >> "+log, ""), func(e *wire.Entry) { e.Require = []int{4} }))
	stages := func(lock wire.Lock) {
		c := serveKeeping(t, at)
		waiting := wire.Entry{Type: "exec", Name: "waits", Awaits: []int{1}}
		once := &wire.Once{Run: lock.Run, Play: 1}
		for _, cat := range []wire.Catalog{
			{Until: 2, Fixed: 2, Entries: append(first[:2:2], waiting)},
			{From: 2, Fixed: 2, Entries: second},
		} {
			cat.Lock, cat.Once = &lock, once
			c.send(&wire.Message{Catalog: &cat})
			for m := c.said(); m.Done == nil; m = c.said() {
				require.NotNil(t, m.Result, "%+v", m)
			}
		}
	}
	stages(firstRun)
	require.Equal(t, "done\nfailed\nguarded\nrequired\n", read(t, log))
	for _, lock := range []wire.Lock{secondRun, {Run: "r3", Holder: "ann", First: "r1", Epoch: 2}} {
		require.NoError(t, os.Remove(log))
		stages(lock)
		require.Equal(t, "failed\nguarded\n", read(t, log), lock.Run)
	}
}
