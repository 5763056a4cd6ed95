package session_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

var file, command, with, receiving = enginetest.File, enginetest.Command, enginetest.With, enginetest.Receiving

// controller is the other end of a session that is being served.
type controller struct {
	t *testing.T
	*wire.Conn
	input io.Closer
	inbox chan *wire.Message
	ended chan error
	dir   string
}

func serve(t *testing.T) *controller {
	t.Helper()
	return serveWith(t, builtin.Types())
}

func serveWith(t *testing.T, known modules.Registry) *controller {
	t.Helper()
	return serveSession(t, known, func(*session.Session) {})
}

// serveSession is serveWith for a session with a change.
func serveSession(t *testing.T, known modules.Registry, change func(*session.Session)) *controller {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &controller{t: t, input: inW, ended: make(chan error, 1), dir: t.TempDir()}
	c.Conn = wire.NewConn(bufio.NewReader(outR), inW, wire.MaxFromHost)
	s := &session.Session{
		Registry: known, Host: system.New(), SpoolDir: c.dir, Now: time.Now,
		Lock: func(ctx context.Context, l wire.Lock) (func(), error) {
			if l.Wait < 0 { // another run holds it for that long
				time.Sleep(-l.Wait)
			}
			if l.Wait > 0 { // another run holds it and does not end
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			return func() {}, nil
		},
	}
	change(s)
	var work sync.WaitGroup
	work.Go(func() {
		c.ended <- s.Serve(context.Background(), inR, outW)
		outW.Close()
		inR.Close()
	})
	c.inbox = make(chan *wire.Message, 100)
	work.Go(func() {
		defer close(c.inbox)
		for {
			m, err := c.Receive()
			if err != nil {
				return
			}
			c.inbox <- m
		}
	})
	t.Cleanup(func() {
		inW.Close()
		outR.Close()
		work.Wait()
	})
	return c
}

func (c *controller) send(m *wire.Message) {
	c.t.Helper()
	require.NoError(c.t, c.Send(m))
}

func (c *controller) next() *wire.Message {
	c.t.Helper()
	m, ok := <-c.inbox
	require.True(c.t, ok, "the session has ended")
	return m
}

// said returns the next message, except pongs, which come at any time.
func (c *controller) said() *wire.Message {
	c.t.Helper()
	m := c.next()
	for m.Pong != nil {
		m = c.next()
	}
	return m
}

func (c *controller) catalog(entries ...wire.Entry) {
	c.t.Helper()
	c.send(&wire.Message{Catalog: &wire.Catalog{Entries: entries}})
}

func TestSessionAsksForContentsAtOnce(t *testing.T) {
	c := serve(t)
	big := func(s string) modules.Content { return modules.TextContent(strings.Repeat(s, 100_000)) }
	var entries []wire.Entry
	for _, name := range []string{"a", "b", "a2"} {
		path := filepath.Join(c.dir, name)
		content := big(name[:1])
		json, err := content.MarshalJSON()
		require.NoError(t, err)
		entries = append(entries, file(path, `"mode":"0644","content":`+string(json)))
	}
	c.catalog(entries...)
	want := c.next().Want
	require.Equal(t, []string{big("a").SHA256(), big("b").SHA256()}, want.SHA256, "equal contents go once")
	for _, content := range []modules.Content{big("a"), big("b")} {
		all, _ := content.Bytes()
		for offset := int64(0); offset < content.Size(); {
			n := min(content.Size()-offset, wire.MaxChunk)
			c.send(&wire.Message{Blob: &wire.Blob{SHA256: content.SHA256(), Size: content.Size(), Offset: offset, Data: all[offset : offset+n]}})
			c.send(&wire.Message{Ping: &wire.Empty{}}) // other messages may come between chunks
			offset += n
		}
	}
	statuses := 0
	for m := c.next(); m.Done == nil; m = c.next() {
		if m.Result != nil {
			require.Equal(t, wire.Changed, m.Result.Status, m.Result.Error)
			statuses++
		}
	}
	require.Equal(t, 3, statuses)
	got, err := os.ReadFile(filepath.Join(c.dir, "a2"))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("a", 100_000), string(got))

	c.catalog(entries...) // a converged host requests nothing
	for range 3 {
		require.NotNil(t, c.said().Result)
	}
	require.NotNil(t, c.said().Done)
	names, err := os.ReadDir(c.dir)
	require.NoError(t, err)
	require.Len(t, names, 3, "nothing of the spool has a name")
}

func TestSessionFailsOnlyTheResourceOfABadContent(t *testing.T) {
	for name, tc := range map[string]struct {
		blob wire.Blob
		want string
	}{
		"damaged": {wire.Blob{Size: 1000, Data: bytes.Repeat([]byte("x"), 1000)}, "arrived damaged"},
		"gone":    {wire.Blob{Gone: "the file changed during the run"}, "the file changed during the run"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t)
			content := modules.TextContent(strings.Repeat("y", 1000))
			json, err := content.MarshalJSON()
			require.NoError(t, err)
			c.catalog(file(filepath.Join(c.dir, "a"), `"mode":"0644","content":`+string(json)), command("true", ""))
			tc.blob.SHA256 = c.next().Want.SHA256[0]
			c.send(&wire.Message{Blob: &tc.blob})
			r := c.next().Result
			require.Equal(t, wire.Failed, r.Status)
			require.Contains(t, r.Error, tc.want)
			require.Equal(t, wire.Changed, c.next().Result.Status)
		})
	}
}

func TestSessionAnswersWhileAResourceRuns(t *testing.T) {
	c := serve(t)
	fifo := filepath.Join(c.dir, "go")
	c.catalog(command("while ! test -e "+fifo+"; do sleep 0.01; done", ""))
	c.send(&wire.Message{Ping: &wire.Empty{}})
	require.NotNil(t, c.next().Pong)
	require.NoError(t, os.WriteFile(fifo, nil, 0o600))
	require.Equal(t, wire.Changed, c.next().Result.Status)
	require.NotNil(t, c.next().Done)
}

func TestSessionStopsAfterTheRunningResource(t *testing.T) {
	c := serve(t)
	started, release := filepath.Join(c.dir, "started"), filepath.Join(c.dir, "release")
	c.catalog(command("touch "+started+"; while ! test -e "+release+"; do sleep 0.01; done", ""), command("true", ""))
	require.Eventually(t, func() bool { _, err := os.Stat(started); return err == nil }, time.Minute, time.Millisecond)
	c.send(&wire.Message{Stop: &wire.Empty{}})
	c.send(&wire.Message{Ping: &wire.Empty{}}) // its answer shows that stop has been read
	require.NotNil(t, c.next().Pong)
	require.NoError(t, os.WriteFile(release, nil, 0o600))
	require.Equal(t, wire.Changed, c.next().Result.Status)
	require.True(t, c.next().Done.Stopped)
}

func TestSessionKillsTheProcessGroup(t *testing.T) {
	c := serve(t)
	pid := filepath.Join(c.dir, "pid")
	// The sleep is a child of the shell: the whole group has to go.
	c.catalog(command("sleep 1000 & echo $! > "+pid+".new; mv "+pid+".new "+pid+"; wait", ""))
	require.Eventually(t, func() bool { _, err := os.Stat(pid); return err == nil }, time.Minute, time.Millisecond)
	child, err := os.ReadFile(pid)
	require.NoError(t, err)
	c.send(&wire.Message{Kill: &wire.Empty{}})
	r := c.next().Result
	require.Equal(t, wire.Failed, r.Status)
	require.Eventually(t, func() bool {
		_, err := os.Stat("/proc/" + strings.TrimSpace(string(child)) + "/cwd")
		return err != nil
	}, time.Minute, time.Millisecond)
}

func TestSessionEndsWithItsInput(t *testing.T) {
	c := serve(t)
	c.catalog(command("true", ""))
	require.NotNil(t, c.next().Result)
	require.NotNil(t, c.next().Done)
	require.NoError(t, c.input.Close())
	require.NoError(t, <-c.ended)
}

func TestSessionRefusesWhatAControllerDoesNotSend(t *testing.T) {
	c := serve(t)
	c.send(&wire.Message{Pong: &wire.Empty{}})
	require.EqualError(t, <-c.ended, "a message that only the host sends")
}

func TestHearingNoticesSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		h := wire.NewIdleReader(r, time.Now, 0)
		silent := make(chan time.Time, 1)
		start := time.Now()
		go func() {
			if h.TimedOut(t.Context()) {
				silent <- time.Now()
			}
		}()
		var reading sync.WaitGroup
		reading.Go(func() { io.Copy(io.Discard, h) })
		time.Sleep(50 * time.Second)
		w.Write([]byte("x"))
		require.Equal(t, 50*time.Second+wire.IdleTimeout, (<-silent).Sub(start))
		w.Close()
		reading.Wait()
	})
}

// TestIdleTimeoutOfAnotherLength has pings come in time whatever the idle timeout is.
func TestIdleTimeoutOfAnotherLength(t *testing.T) {
	for _, idle := range []time.Duration{0, 2 * time.Second, wire.IdleTimeout, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			h := wire.NewIdleReader(r, time.Now, idle)
			start := time.Now()
			silent := make(chan time.Duration, 1)
			go func() {
				if h.TimedOut(t.Context()) {
					silent <- time.Since(start)
				}
			}()
			var reading sync.WaitGroup
			reading.Go(func() { io.Copy(io.Discard, h) })
			for range 5 {
				time.Sleep(2 * wire.PingInterval(idle)) // one is lost, and another one a bit late
				w.Write([]byte("x"))
			}
			heard := time.Since(start)
			require.Equal(t, heard+cmp.Or(idle, wire.IdleTimeout), <-silent)
			w.Close()
			reading.Wait()
		})
	}
}

func TestHearingDoesNotBlameTheOtherSideForASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := wire.NewIdleReader(strings.NewReader("x"), time.Now, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.False(t, h.TimedOut(ctx), "nobody reads")
	})
}

func TestSessionWaitsForTheLockOnlyAsLongAsItIsWanted(t *testing.T) {
	c := serve(t)
	c.send(&wire.Message{Catalog: &wire.Catalog{
		Lock:    &wire.Lock{Holder: "me", Wait: time.Hour},
		Entries: []wire.Entry{command("true", "")},
	}})
	require.True(t, c.next().Locked.Waits)
	c.send(&wire.Message{Stop: &wire.Empty{}})
	require.True(t, c.next().Done.Stopped)
}

// TestSessionSaysThatItHasTheLock after it has waited for it.
func TestSessionSaysThatItHasTheLock(t *testing.T) {
	c := serve(t)
	c.send(&wire.Message{Catalog: &wire.Catalog{
		Lock:    &wire.Lock{Holder: "me", Wait: -time.Second},
		Entries: []wire.Entry{command("true", "")},
	}})
	require.True(t, c.next().Locked.Waits)
	require.False(t, c.next().Locked.Waits)
	require.NotNil(t, c.next().Result)
}

// TestSessionTakesWhatWasPromised requests contents whose size and hash are not known.
func TestSessionTakesWhatWasPromised(t *testing.T) {
	c := serve(t)
	var entries []wire.Entry
	var tokens []string
	for i, name := range []string{"empty", "large", "gone", "never"} {
		token := strings.Repeat(fmt.Sprintf("%02x", i), 32)
		tokens = append(tokens, token)
		entries = append(entries, wire.Entry{Type: "archive", Name: name, Properties: fmt.Appendf(nil,
			`{"name":%q,"url":"https://example.com/a.tar","owner":"%d","group":"%d","fetch":"controller","content":{"promised":%q}}`,
			filepath.Join(c.dir, name+".tar"), os.Geteuid(), os.Getegid(), token)})
	}
	c.catalog(entries...)
	require.Equal(t, tokens, c.next().Want.SHA256)
	all := []byte(strings.Repeat("x", 100_000))
	c.send(&wire.Message{Blob: &wire.Blob{SHA256: tokens[1], Size: 100_000, Data: all[:60_000]}})
	c.send(&wire.Message{Blob: &wire.Blob{SHA256: tokens[0]}})
	c.send(&wire.Message{Blob: &wire.Blob{SHA256: tokens[2], Gone: "the server is down"}})
	c.send(&wire.Message{Blob: &wire.Blob{SHA256: tokens[1], Size: 100_000, Offset: 60_000, Data: all[60_000:]}})
	for i, want := range []string{"", "", "download failed: the server is down"} {
		r := c.said().Result
		require.Equal(t, i, r.Index)
		require.Equal(t, want, r.Error)
	}
	for name, size := range map[string]int{"empty.tar": 0, "large.tar": 100_000} {
		b, err := os.ReadFile(filepath.Join(c.dir, name))
		require.NoError(t, err)
		require.Len(t, b, size)
	}
	require.NoError(t, c.input.Close()) // the last one will not come
	require.Equal(t, "download failed: the connection was lost before its content had come", c.said().Result.Error)
}
