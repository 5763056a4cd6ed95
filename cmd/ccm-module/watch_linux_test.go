package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builds/buildtest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// unhurried makes a program wait ten minutes for a silent controller; see [serveFor].
const unhurried = "-:600000"

// receive returns the program's next message, except signs of life.
func (s *served) receive() *wire.Message {
	s.t.Helper()
	for {
		m, err := s.conn.Receive()
		require.NoError(s.t, err, s.stderr)
		if m.Ping == nil {
			return m
		}
	}
}

// TestServeWatches checks that the full program reports a file that another process changes.
func TestServeWatches(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "motd")
	require.NoError(t, os.WriteFile(path, []byte("hi\n"), 0o644))
	require.NoError(t, os.Chmod(path, 0o644))
	properties, err := json.Marshal(map[string]any{"name": path, "content": modules.TextContent("hi\n"), "mode": "0644"})
	require.NoError(t, err)
	s := serveFor(t, programOf(t, buildtest.Both(t)[1]), unhurried)
	receive := s.receive
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
	if len(told.Writers) > 0 { // if the kernel names the process
		require.Equal(t, os.Getpid(), told.Writers[0].PID)
	}
	require.NoError(t, s.in.Close())
	require.NoError(t, s.program.Wait(), s.stderr)
}

// TestServeWatchesForLong starts the watch of a play's catalog a thousand times, as after each repair. It checks that
// the kernel has no more watches than after the first time, and the program no more memory than after some, and that
// nothing is sent while nothing changes.
func TestServeWatchesForLong(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "ccm-push-") // changes of other programs in /tmp would be reported, too, and use memory
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	var entries []wire.Entry
	for i := range 30 {
		path := filepath.Join(dir, fmt.Sprint(i), "file")
		require.NoError(t, os.Mkdir(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		entries = append(entries, wire.Entry{Type: "file", Name: path, Properties: fmt.Appendf(nil, `{"name":%q,"owner":"root"}`, path)})
	}
	s := serveFor(t, programOf(t, buildtest.Both(t)[1]), unhurried)
	send := func() {
		t.Helper()
		require.NoError(t, s.conn.Send(&wire.Message{Catalog: &wire.Catalog{
			Check: true, Rehearsal: true, Watch: &wire.Watch{Play: 1, Settle: time.Second, Longest: time.Second}, Entries: entries,
		}}))
	}
	again := func() {
		t.Helper()
		send()
		for m := s.receive(); m.Watched == nil; m = s.receive() {
		}
	}
	pid := s.program.Process.Pid
	for range 20 {
		again()
	}
	watches := watchesOf(t, pid)
	require.Greater(t, watches, len(entries))
	times, warm := 1000, 200
	if testing.Short() {
		times, warm = 200, 100
	}
	for range warm {
		again()
	}
	rests := func(most int) (own int) { // while active it has memory that is not yet collected
		t.Helper()
		if !assert.Eventually(t, func() bool {
			own = memoryOf(t, pid)
			return own < most
		}, time.Minute, 100*time.Millisecond) {
			t.Fatalf("%d KiB of its own, of %d", own, most)
		}
		return own
	}
	before := rests(maxIdle)
	for range times - warm {
		again()
	}
	require.Equal(t, watches, watchesOf(t, pid))

	said := make(chan *wire.Message, 1)
	go func() { // it ends with the program
		if m, err := s.conn.Receive(); err == nil {
			said <- m
		}
	}()
	t.Logf("%d watches; %d KiB of its own at rest after %d times, %d after %d", watches, before, warm, rests(before+leak), times)
	require.Empty(t, said, "nothing has changed")
	send() // it works as before
	require.NotNil(t, (<-said).Result)
}

// maxIdle is the limit for an idle host program's own memory, in KiB.
const maxIdle = 8 << 10

// leak is the limit for additional memory after many catalogs, in KiB: half of that varies without any.
const leak = 3 << 10

// watchesOf returns the number of a process's inotify watches.
func watchesOf(t *testing.T, pid int) (n int) {
	t.Helper()
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	require.NoError(t, err)
	for _, info := range infos {
		text, err := os.ReadFile(info)
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed meanwhile
		}
		require.NoError(t, err)
		n += strings.Count(string(text), "inotify wd:")
	}
	return n
}

// memoryOf returns the resident memory of a process that is not from files, in KiB. The resident part of its program is
// not comparable: the page cache may hold it in pieces of 2 MiB, and Linux 6.18 and later map a whole piece when a byte
// is read.
func memoryOf(t *testing.T, pid int) (kib int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "RssAnon:")
	require.True(t, found)
	_, err = fmt.Sscan(rest, &kib)
	require.NoError(t, err)
	return kib
}
