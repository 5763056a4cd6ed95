package session_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/engine/watch"
	"github.com/ccm-push/ccm-push/modules/listen"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// ears receive the hints of a test.
type ears struct{ hints chan listen.Hint }

func (e *ears) Listen(_ context.Context, sources []modules.Sources) ([]string, error) {
	return make([]string, len(sources)), nil
}
func (e *ears) Hints() <-chan listen.Hint   { return e.hints }
func (e *ears) Drain(context.Context) error { return nil }
func (e *ears) Close() error                { return nil }

// serveWatching starts a session that can watch, and returns the receiver of its hints.
func serveWatching(t *testing.T) (*controller, *ears) {
	e := &ears{make(chan listen.Hint, 10)}
	return serveSession(t, builtin.Types(), func(s *session.Session) {
		s.Watch = func(c *session.Controller) session.Watching {
			return watch.New(watch.Config{Listen: func() (watch.Listener, error) { return e, nil }, Tell: c.Tell, Now: time.Now})
		}
	}), e
}

// watched returns a catalog to watch.
func watched(play int, entries ...wire.Entry) *wire.Message {
	return &wire.Message{Catalog: &wire.Catalog{Check: true, Rehearsal: true, Watch: &wire.Watch{Play: play}, Entries: entries}}
}

func TestSessionRefusesToWatch(t *testing.T) {
	c := serve(t)
	c.send(watched(1, file(filepath.Join(c.dir, "a"), "")))
	require.Equal(t, &wire.Refused{Phase: "protocol", Error: "this host program cannot watch: only the full one can"}, c.said().Refused)
	c.catalog(command("true", ""))
	require.NotNil(t, c.said().Result, "it goes on with others")
	for _, change := range []func(*wire.Catalog){
		func(c *wire.Catalog) { c.Check = false },
		func(c *wire.Catalog) { c.Rehearsal = false },
		func(c *wire.Catalog) { c.Lock = &wire.Lock{Holder: "ann", Run: "r"} },
		func(c *wire.Catalog) { c.Remember = &wire.Remember{As: "site"} },
		func(c *wire.Catalog) { c.Until = 1 },
	} {
		c, _ := serveWatching(t)
		m := watched(1, file(filepath.Join(c.dir, "a"), ""))
		change(m.Catalog)
		c.send(m)
		require.EqualError(t, <-c.ended, "watch needs a complete check run, without a record and without a lock")
	}
}

func TestSessionWatches(t *testing.T) {
	c, ears := serveWatching(t)
	path := filepath.Join(c.dir, "a")
	require.NoError(t, os.WriteFile(path, []byte("good"), 0o644))
	entry := file(path, `"mode":"0644","content":"good"`)
	c.send(watched(7, entry))
	require.Equal(t, wire.Status(""), c.said().Result.Status)
	require.Equal(t, &wire.Done{}, c.said().Done)
	require.True(t, c.said().Watched.Heard)

	// The file is never half written, because the watch has no settle time here.
	require.NoError(t, os.WriteFile(path+".new", []byte("bad"), 0o644))
	require.NoError(t, os.Rename(path+".new", path))
	ears.hints <- listen.Hint{Sources: []int{0}}
	told := c.said().Watched
	require.Equal(t, 7, told.Play)
	require.Len(t, told.Results, 1)
	require.Equal(t, wire.Changed, told.Results[0].Status)

	c.send(&wire.Message{Ping: &wire.Empty{}})
	require.NotNil(t, c.next().Pong)
	c.catalog(entry)                                      // another catalog repairs it
	for done, mended := false, false; !done || !mended; { // everything is checked after the report, repaired or not
		switch m := c.said(); {
		case m.Result != nil:
			require.Equal(t, wire.Changed, m.Result.Status)
		case m.Done != nil:
			done = true
			ears.hints <- listen.Hint{Sources: []int{0}}
		default:
			require.Len(t, m.Watched.Results, 1)
			mended = m.Watched.Results[0].Status == ""
		}
	}

	c.send(watched(7)) // and one of the same play takes its place
	require.Equal(t, &wire.Done{}, c.said().Done)
	require.Equal(t, &wire.Watched{Play: 7, Heard: true}, c.said().Watched)
	require.NoError(t, c.input.Close())
	require.NoError(t, <-c.ended)
}

// TestSessionEndsWhileItWatches holds that a check which takes long does not hold up an end.
func TestSessionEndsWhileItWatches(t *testing.T) {
	for name, end := range map[string]func(c *controller){
		"the input": func(c *controller) { c.input.Close() },
		"a kill":    func(c *controller) { c.send(&wire.Message{Kill: &wire.Empty{}}) },
	} {
		t.Run(name, func(t *testing.T) {
			c, ears := serveWatching(t)
			slow, began := filepath.Join(c.dir, "slow"), filepath.Join(c.dir, "began")
			c.send(watched(1, command("true", `"unless":"! test -e `+slow+` || { touch `+began+`; sleep 1000; }"`)))
			require.NotNil(t, c.said().Result)
			require.NotNil(t, c.said().Done)
			require.NotNil(t, c.said().Watched)
			require.NoError(t, os.WriteFile(slow, nil, 0o600))
			ears.hints <- listen.Hint{Sources: []int{0}}
			require.Eventually(t, func() bool { _, err := os.Stat(began); return err == nil }, time.Minute, time.Millisecond)
			end(c)
			<-c.ended
		})
	}
}

// TestSessionAsksNothingWhileItWatches has a catalog whose entries send requests to the controller.
func TestSessionAsksNothingWhileItWatches(t *testing.T) {
	c, ears := serveWatching(t)
	path := filepath.Join(c.dir, "a")
	big := modules.TextContent(strings.Repeat("x", 1000))
	content, err := json.Marshal(big)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("text of another host"), 0o644))
	received := receiving(file(path, `"mode":"0644"`), wire.Receive{Property: "content", From: -1, Key: "text", Sender: "exec#x of db1"})
	large := file(filepath.Join(c.dir, "b"), `"mode":"0644","content":`+string(content))
	m := watched(1, received, wire.Entry{Type: "exec", Name: "there", On: "db1"}, large)
	m.Catalog.Diff = true
	c.send(m)
	for done := false; !done; {
		switch m := c.said(); {
		case m.Import != nil:
			c.send(&wire.Message{Imported: &wire.Imported{Values: map[string]json.RawMessage{"content": json.RawMessage(`"text of another host"`)}, Sensitive: true}})
		case m.Elsewhere != nil:
			c.send(&wire.Message{Elsewhere: &wire.Elsewhere{Index: 1, Status: wire.Changed}})
		case m.Want != nil:
			all, _ := big.Bytes()
			c.send(&wire.Message{Blob: &wire.Blob{SHA256: big.SHA256(), Size: big.Size(), Data: all}})
		case m.Result != nil:
			require.Equal(t, m.Result.Index > 0, m.Result.Status == wire.Changed)
		default:
			require.Equal(t, &wire.Done{}, m.Done)
			done = true
		}
	}
	polled := c.said().Watched.Polled
	require.Contains(t, polled, wire.Polled{Index: 1, Why: "it runs on another host, and its state was read when this watch began"})
	for _, name := range []string{path, large.Name} { // whole, since all is checked once when the watch begins
		require.NoError(t, os.WriteFile(name+".new", []byte("drifted"), 0o644))
		require.NoError(t, os.Rename(name+".new", name))
	}
	ears.hints <- listen.Hint{Sources: []int{0, 1, 2}}
	told := map[int]*wire.Result{}
	for told[0] == nil || told[2] == nil {
		for _, r := range c.said().Watched.Results {
			told[r.Index] = r
		}
	}
	require.Len(t, told, 2)
	require.Equal(t, wire.Changed, told[0].Status)
	require.Empty(t, told[0].Diff)
	for _, change := range told[0].Changes {
		require.Equal(t, "[sensitive]", change.Have, "it is made of something sensitive")
	}
	require.Contains(t, told[2].Diff, "-drifted", "its text came when the watch began")
}

// TestSessionWatchesWithoutTheLock releases the lock of an applying catalog, and lets another one take it again.
func TestSessionWatchesWithoutTheLock(t *testing.T) {
	var said []string
	c := serveSession(t, builtin.Types(), func(s *session.Session) {
		s.Lock = func(context.Context, wire.Lock) (func(), error) {
			said = append(said, "taken")
			return func() { said = append(said, "given back") }, nil
		}
		s.Watch = func(c *session.Controller) session.Watching {
			return watch.New(watch.Config{Tell: c.Tell, Now: time.Now})
		}
	})
	entry := file(filepath.Join(c.dir, "a"), `"mode":"0644","content":"good"`)
	apply := &wire.Message{Catalog: &wire.Catalog{Lock: &wire.Lock{Holder: "ann", Run: "r"}, Entries: []wire.Entry{entry}}}
	run := func(m *wire.Message) {
		c.send(m)
		for c.said().Done == nil {
		}
	}
	run(apply)
	run(apply)
	require.Equal(t, []string{"taken"}, said, "it is kept for the plays that follow")
	run(watched(1, entry))
	require.Equal(t, []string{"taken", "given back"}, said)
	run(apply)
	require.Equal(t, []string{"taken", "given back", "taken"}, said)
	require.NoError(t, c.input.Close())
	require.NoError(t, <-c.ended)
	require.Equal(t, []string{"taken", "given back", "taken", "given back"}, said)
}
