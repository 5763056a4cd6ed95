package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builds/buildtest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestServeWatches has the full program tell of a file that another process changes.
func TestServeWatches(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "motd")
	require.NoError(t, os.WriteFile(path, []byte("hi\n"), 0o644))
	require.NoError(t, os.Chmod(path, 0o644))
	properties, err := json.Marshal(map[string]any{"name": path, "content": modules.TextContent("hi\n"), "mode": "0644"})
	require.NoError(t, err)
	s := serveReal(t, programOf(t, buildtest.Both(t)[1]))
	receive := func() *wire.Message {
		t.Helper()
		for {
			m, err := s.conn.Receive()
			require.NoError(t, err, s.stderr)
			if m.Ping == nil {
				return m
			}
		}
	}
	require.NoError(t, s.conn.Send(&wire.Message{Catalog: &wire.Catalog{
		Check: true, Rehearsal: true, Watch: &wire.Watch{Play: 1, Settle: 10 * time.Millisecond, Longest: time.Second},
		Entries: []wire.Entry{{Type: "file", Name: path, Properties: properties}},
	}}))
	require.Empty(t, receive().Result.Error)
	require.NotNil(t, receive().Done)
	require.Equal(t, &wire.Watched{Play: 1, Heard: true}, receive().Watched, "all of it is heard")

	require.NoError(t, os.WriteFile(path+".new", []byte("ho\n"), 0o644))
	require.NoError(t, os.Rename(path+".new", path))
	told := receive().Watched
	require.Len(t, told.Results, 1)
	require.Equal(t, wire.Changed, told.Results[0].Status)
	require.Equal(t, wire.Drift, told.Results[0].Cause)
	if len(told.Writers) > 0 { // where the kernel says who it was
		require.Equal(t, os.Getpid(), told.Writers[0].PID)
	}
	require.NoError(t, s.in.Close())
	require.NoError(t, s.program.Wait())
}
