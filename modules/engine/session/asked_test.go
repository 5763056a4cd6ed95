package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

func TestSessionAsksForWhatOtherHostsSend(t *testing.T) {
	c := serve(t)
	path := filepath.Join(c.dir, "token")
	c.catalog(receiving(file(path, `"mode":"0600"`), wire.Receive{Property: "content", From: -1}))
	require.Equal(t, &wire.Import{Index: 0}, c.said().Import)
	c.send(&wire.Message{Imported: &wire.Imported{Index: 7}}) // an answer without a request
	c.send(&wire.Message{Imported: &wire.Imported{Index: 0, Values: map[string]json.RawMessage{"content": json.RawMessage(`"a"`)}}})
	require.Equal(t, wire.Changed, c.said().Result.Status)
	require.NotNil(t, c.said().Done)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a", string(text))
}

func TestSessionWaitsForItsTurn(t *testing.T) {
	c := serve(t)
	made := filepath.Join(c.dir, "made")
	c.catalog(with(command("touch "+made, ""), func(e *wire.Entry) { e.Sema = []string{"db"} }))
	require.Equal(t, &wire.Semaphore{Index: 0, Would: "Would have executed"}, c.said().Semaphore)
	require.NoFileExists(t, made)
	c.send(&wire.Message{Granted: &wire.Granted{Index: 0}})
	require.Equal(t, &wire.Semaphore{Index: 0, Release: true}, c.said().Semaphore)
	require.Equal(t, wire.Changed, c.said().Result.Status)
	require.FileExists(t, made)
	require.NotNil(t, c.said().Done)
}

func TestSessionStopsWhileItWaits(t *testing.T) {
	for name, entry := range map[string]wire.Entry{
		"for a turn":      with(command("true", ""), func(e *wire.Entry) { e.Sema = []string{"db"} }),
		"for other hosts": receiving(command("true", ""), wire.Receive{Property: "cwd", From: -1}),
	} {
		for _, parallel := range []int{0, 2} {
			t.Run(name, func(t *testing.T) {
				c := serve(t)
				c.send(&wire.Message{Catalog: &wire.Catalog{Parallel: parallel, Entries: []wire.Entry{entry}}})
				m := c.said()
				require.True(t, m.Semaphore != nil || m.Import != nil)
				c.send(&wire.Message{Stop: &wire.Empty{}})
				if m.Semaphore != nil {
					require.Equal(t, &wire.Semaphore{Index: 0, Release: true}, c.said().Semaphore, "it is given back in any case")
				}
				require.True(t, c.said().Done.Stopped)
			})
		}
	}
}

func TestSessionIsKilledWhileItWaits(t *testing.T) {
	c := serve(t)
	c.catalog(receiving(command("true", ""), wire.Receive{Property: "cwd", From: -1}))
	require.NotNil(t, c.said().Import)
	c.send(&wire.Message{Kill: &wire.Empty{}})
	if m := c.said(); m.Result != nil { // stop, which comes with it, may be seen first
		require.Equal(t, wire.RunInterrupted, m.Result.Error)
		m = c.said()
		require.NotNil(t, m.Done)
	} else {
		require.True(t, m.Done.Stopped)
	}
}

// A scholar reads YAML as it is checked.
type scholar struct {
	modules.Resource
	texts []string
	read  []string
}

func (s *scholar) Validate() error { return nil }

func (s *scholar) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	for _, text := range s.texts {
		b, err := h.YAML(ctx, text)
		if err != nil {
			return modules.Plan{}, err
		}
		s.read = append(s.read, string(b))
	}
	return modules.Plan{}, nil
}

func TestSessionHasYAMLRead(t *testing.T) {
	for _, check := range []bool{false, true} {
		s := &scholar{texts: []string{"a: 1", "b", "{", string(make([]byte, modules.MaxParse+1))}}
		c := serveWith(t, modules.Registry{{Name: "scholar", New: func() modules.Resource { return s }}})
		c.send(&wire.Message{Catalog: &wire.Catalog{Check: check, Entries: []wire.Entry{{Type: "scholar", Properties: json.RawMessage("{}")}}}})
		require.Equal(t, &wire.Parse{ID: 1, Text: "a: 1"}, c.said().Parse)
		c.send(&wire.Message{Parsed: &wire.Parsed{ID: 1, JSON: json.RawMessage(`{"a":1}`)}})
		require.Equal(t, &wire.Parse{ID: 2, Text: "b"}, c.said().Parse)
		c.send(&wire.Message{Parsed: &wire.Parsed{ID: 2, JSON: json.RawMessage(`"b"`)}})
		require.Equal(t, &wire.Parse{ID: 3, Text: "{"}, c.said().Parse)
		c.send(&wire.Message{Parsed: &wire.Parsed{ID: 3, Error: "1:1: no end"}})
		require.Equal(t, "1:1: no end", c.said().Result.Error)
		require.NotNil(t, c.said().Done)
		require.Equal(t, []string{`{"a":1}`, `"b"`}, s.read)

		s.texts = s.texts[3:]
		c.catalog(wire.Entry{Type: "scholar", Properties: json.RawMessage("{}")})
		require.Equal(t, errors.New("262145 bytes of YAML are more than 262144").Error(), c.said().Result.Error)
	}
}

func TestSessionKillsAllThatRunAtOnce(t *testing.T) {
	c := serve(t)
	var entries []wire.Entry
	for _, name := range []string{"a", "b"} {
		pid := filepath.Join(c.dir, name)
		entries = append(entries, command("sleep 1000 & echo $! > "+pid+".new; mv "+pid+".new "+pid+"; wait", ""))
	}
	c.send(&wire.Message{Catalog: &wire.Catalog{Parallel: 2, Entries: append(entries, command("true", ""))}})
	var children []string
	for _, name := range []string{"a", "b"} {
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(filepath.Join(c.dir, name))
			if err == nil {
				children = append(children, strings.TrimSpace(string(text)))
			}
			return err == nil
		}, time.Minute, time.Millisecond)
	}
	c.send(&wire.Message{Kill: &wire.Empty{}})
	for range 2 {
		r := c.said().Result
		require.Equal(t, wire.Failed, r.Status)
		require.Contains(t, r.Error, wire.RunInterrupted)
	}
	for _, child := range children {
		require.Eventually(t, func() bool {
			_, err := os.Stat("/proc/" + child + "/cwd")
			return err != nil
		}, time.Minute, time.Millisecond)
	}
}
