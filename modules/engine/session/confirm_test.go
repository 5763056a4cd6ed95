package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine/confirm"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A guarded host has a watchdog that the test plays, and a clock that it moves.
type guarded struct {
	t      *testing.T
	files  *confirm.Files
	home   string
	now    atomic.Int64
	starts atomic.Int64 // starts of the watchdog
	noBoot error

	mu      sync.Mutex
	noStart error    // error of starting a watchdog
	ends    []func() // of watchdogs
}

func (g *guarded) Install() error { return g.noBoot }
func (g *guarded) Remove() error  { return nil }

func newGuarded(t *testing.T) *guarded {
	g := &guarded{t: t, home: t.TempDir()}
	require.NoError(t, os.Chmod(g.home, 0o700))
	g.files = &confirm.Files{
		Open:    func(bool) (*os.Root, error) { return os.OpenRoot(g.home) },
		SyncDir: func(*os.Root) error { return nil },
	}
	g.now.Store(int64(time.Hour))
	t.Cleanup(g.end)
	return g
}

// end kills the watchdogs.
func (g *guarded) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, end := range g.ends {
		end()
	}
	g.ends = nil
}

// start starts a watchdog.
func (g *guarded) start() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.noStart != nil {
		return g.noStart
	}
	end, err := g.files.Watch(context.Background())
	g.ends = append(g.ends, end)
	g.starts.Add(1)
	return err
}

// refuse makes start return an error.
func (g *guarded) refuse(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.noStart = err
}

func (g *guarded) clock() confirm.Clock {
	return confirm.Clock{Start: "boot 1", Since: func() time.Duration { return time.Duration(g.now.Load()) }}
}

// serve serves a session of the host.
func (g *guarded) serve() *controller {
	return serveSession(g.t, builtin.Types(), func(s *session.Session) {
		s.Past = system.PastIn(g.home)
		s.Confirms = &session.Confirms{
			Files: g.files, Clock: g.clock(), Boot: g, Start: g.start,
		}
	})
}

const (
	oneNonce     = "0123456789abcdefghij"
	anotherNonce = "9876543210zyxwvutsrq"
)

// catalogOf returns a catalog with a file whose change must be confirmed.
func catalogOf(c *controller, run, nonce, content string) *wire.Catalog {
	return &wire.Catalog{
		Lock: &wire.Lock{Holder: "ann@laptop", Run: run}, Once: &wire.Once{Run: run, Play: 1},
		Confirm: &wire.Confirm{Mode: wire.ConfirmAlways, Within: time.Minute, Login: "deploy", Nonce: nonce},
		Entries: []wire.Entry{file(filepath.Join(c.dir, "a"), `"mode":"0644","content":"`+content+`"`)},
	}
}

// run runs a catalog, and answers that every second login works. It returns all other messages, and the number of those
// requests.
func (c *controller) run(cat *wire.Catalog) (said []*wire.Message, asked int) {
	c.t.Helper()
	c.send(&wire.Message{Catalog: cat})
	for {
		m := c.said()
		switch {
		case m.Arm != nil && m.Arm.Set:
			continue
		case m.Arm != nil:
			asked++
			c.send(&wire.Message{Armed: &wire.Armed{Index: m.Arm.Index}})
			continue
		case m.Result != nil:
			m.Result.Duration = 0
		}
		said = append(said, m)
		if m.Done != nil || m.Refused != nil {
			return said, asked
		}
	}
}

func (c *controller) prove(nonce string) *wire.Confirmed {
	c.t.Helper()
	c.send(&wire.Message{Proof: &wire.Proof{Nonce: nonce}})
	return c.said().Confirmed
}

func TestSessionArmsOnce(t *testing.T) {
	g := newGuarded(t)
	c := g.serve()
	cat := catalogOf(c, "r1", oneNonce, "new")
	cat.Entries = append(cat.Entries, file(filepath.Join(c.dir, "b"), `"mode":"0644","content":"b"`))
	said, asked := c.run(cat)
	require.Equal(t, 1, asked)
	require.Equal(t, time.Minute, said[len(said)-1].Done.Armed)
	s, p, err := g.files.Pending()
	require.NoError(t, err)
	require.Equal(t, confirm.Armed, p)
	require.Equal(t, &confirm.State{
		Holder: "ann@laptop", Run: "r1", Play: 1, ID: confirm.ID(oneNonce), First: 1, At: s.At, Start: "boot 1",
		Until: time.Hour + time.Minute, Within: time.Minute, Server: s.Server,
	}, s)

	// Another run waits as for the lock, and the same one continues without another request.
	said, _ = g.serve().run(catalogOf(c, "r2", anotherNonce, "other"))
	require.Equal(t, &wire.Refused{
		Phase: "lock", Locked: true,
		Error: "another run is in progress on this host: changes of ann@laptop, run r1, await their confirmation for 1m0s more",
	}, said[0].Refused)
	again := g.serve()
	again.dir = c.dir
	said, asked = again.run(catalogOf(c, "r1", oneNonce, "newer"))
	require.Zero(t, asked)
	require.Equal(t, wire.Changed, said[0].Result.Status)
	require.Equal(t, time.Minute, said[len(said)-1].Done.Armed)

	require.Equal(t, &wire.Confirmed{Nonce: anotherNonce, State: wire.StateUnknown}, g.serve().prove(anotherNonce))
	require.Equal(t, &wire.Confirmed{Nonce: oneNonce, State: wire.StateConfirmed}, g.serve().prove(oneNonce))
	said, asked = again.run(catalogOf(c, "r1", anotherNonce, "newest"))
	require.Equal(t, 1, asked, "another play is armed anew")
	require.Equal(t, time.Minute, said[len(said)-1].Done.Armed)
	require.Equal(t, int64(1), g.starts.Load(), "the first watchdog is still there")
}

// TestSessionTakesBackFirst has changes whose watchdog has died: by a late proof, or by the next run,
// another one is started, which is waited for.
func TestSessionTakesBackFirst(t *testing.T) {
	for _, late := range []bool{false, true} {
		g := newGuarded(t)
		c := g.serve()
		c.run(catalogOf(c, "r1", oneNonce, "new"))
		g.end() // it is killed
		g.now.Add(int64(2 * time.Minute))
		if late {
			require.Equal(t, &wire.Confirmed{Nonce: oneNonce, State: wire.StateReverting}, g.serve().prove(oneNonce))
			require.Equal(t, &wire.Confirmed{Nonce: oneNonce, State: wire.StateReverting}, g.serve().prove(oneNonce))
		}
		next := g.serve()
		next.send(&wire.Message{Catalog: catalogOf(next, "r2", anotherNonce, "x")})
		require.Eventually(t, func() bool { return g.starts.Load() == 2 }, time.Minute, time.Millisecond)
		s, _, err := g.files.Pending()
		require.NoError(t, err)
		_, err = g.files.Verdict(s.ID, confirm.Reverting)
		require.NoError(t, err)
		r := wire.Reverted{Run: "r1", Play: 1, Holder: "ann@laptop", Why: "nobody confirmed it"}
		require.NoError(t, g.files.Reverted(s, r))
		m := next.said()
		for m.Locked != nil {
			m = next.said()
		}
		require.Equal(t, &r, m.Reverted)
		require.NotNil(t, next.said().Arm)
		other := g.serve()
		require.Equal(t, &wire.Confirmed{Nonce: oneNonce, State: wire.StateReverted, Reverted: &r}, other.prove(oneNonce))
		said, _ := other.run(catalogOf(other, "r1", oneNonce, "new"))
		require.Equal(t, &wire.Refused{Phase: "confirm", Error: "the host has reverted the changes: nobody confirmed it"}, said[0].Refused)
		other.send(&wire.Message{Ack: &wire.Ack{Run: "r1", Play: 1, Reverted: true}})
		require.Equal(t, wire.StateUnknown, other.prove(oneNonce).State)
	}
}

// TestSessionEndsWhenTakenBack has the watchdog decide while the controller is there.
func TestSessionEndsWhenTakenBack(t *testing.T) {
	g := newGuarded(t)
	c := g.serve()
	c.run(catalogOf(c, "r1", oneNonce, "new"))
	won, err := g.files.Verdict(confirm.ID(oneNonce), confirm.Reverting)
	require.NoError(t, err)
	require.True(t, won)
	require.EqualError(t, <-c.ended, "changes of this run were not confirmed in time, and are being taken back")
}

// TestWatchWhileTheHostStarts takes back in two steps: services wait for the first one.
func TestWatchWhileTheHostStarts(t *testing.T) {
	g := newGuarded(t)
	c := g.serve()
	cat := catalogOf(c, "r1", oneNonce, "new")
	made, served := cat.Entries[0].Name, filepath.Join(c.dir, "served")
	cat.Entries = append(cat.Entries, with(command("echo >>"+served, `"refresh_only":true`), func(e *wire.Entry) { e.Subscribe = []int{0} }))
	c.run(cat)
	require.FileExists(t, made)
	before, err := os.ReadFile(served)
	require.NoError(t, err)
	g.end()
	evicted := 0
	watch := func(start string, starting bool) {
		t.Helper()
		s := &session.Session{Registry: builtin.Types(), Host: system.New(), Now: time.Now, Past: system.PastIn(g.home), Confirms: &session.Confirms{
			Files: g.files, Clock: confirm.Clock{Start: start, Since: func() time.Duration { return 0 }}, Boot: g,
			Start: func() error { g.starts.Add(1); return nil },
			Evict: func(_ context.Context, run string, _ wire.Lock) (func(), error) {
				require.Equal(t, "r1", run)
				evicted++
				return func() {}, nil
			},
		}}
		require.NoError(t, s.Watchdog(t.Context(), starting))
	}
	watch("boot 1", true)
	require.Zero(t, evicted, "its unit was started by something else")
	watch("boot 2", true)
	require.Equal(t, int64(2), g.starts.Load(), "another one does the rest")
	require.NoFileExists(t, made)
	now, err := os.ReadFile(served)
	require.NoError(t, err)
	require.Equal(t, string(before), string(now), "nothing is started yet")
	_, p, err := g.files.Pending()
	require.NoError(t, err)
	require.Equal(t, confirm.Reverting, p)
	watch("boot 2", false)
	require.Equal(t, 2, evicted)
	s, _, err := g.files.Pending()
	require.NoError(t, err)
	require.Nil(t, s)
	r, err := g.files.Of(confirm.ID(oneNonce))
	require.NoError(t, err)
	require.Equal(t, "the host restarted before the change was confirmed", r.Why)
	require.Equal(t, []wire.UntoldResult{{Type: "file", Name: made, Status: wire.Changed, Message: "removed what the run had made"}}, r.Results)
	watch("boot 2", false) // nothing is left to revert
	require.Equal(t, 2, evicted)
}

// TestSessionCannotArm has a host on which nothing would take anything back.
func TestSessionCannotArm(t *testing.T) {
	for _, test := range []struct {
		name string
		set  func(*guarded, *wire.Confirm)
		want string
	}{
		{
			"no watchdog", func(g *guarded, _ *wire.Confirm) { g.refuse(errors.New("systemd-run: no such file")) },
			"not done, because it has confirm: always, and without confirmation nothing would revert the change: the watchdog cannot be started: systemd-run: no such file",
		},
		{
			"no unit", func(g *guarded, c *wire.Confirm) { g.noBoot, c.Boot = errors.New("no systemd"), true },
			"not done, because it has confirm: always, and without confirmation nothing would revert the change: no systemd",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newGuarded(t)
			c := g.serve()
			cat := catalogOf(c, "r1", oneNonce, "new")
			test.set(g, cat.Confirm)
			said, _ := c.run(cat)
			require.Equal(t, test.want, said[0].Result.Error)
			require.Zero(t, said[len(said)-1].Done.Armed)
			require.NoFileExists(t, cat.Entries[0].Name)
			s, _, err := g.files.Pending()
			require.NoError(t, err)
			require.Nil(t, s)
			require.Equal(t, wire.StateUnknown, g.serve().prove(oneNonce).State)
		})
	}
}

// TestSessionRevivesItsWatchdog: while the session lasts, it notices that the watchdog was killed, and starts
// another one.
func TestSessionRevivesItsWatchdog(t *testing.T) {
	g := newGuarded(t)
	c := g.serve()
	c.run(catalogOf(c, "r1", oneNonce, "new"))
	require.Equal(t, int64(1), g.starts.Load())
	g.end() // it is killed
	require.Equal(t, &wire.Watchdog{}, c.said().Watchdog)
	require.Equal(t, int64(2), g.starts.Load())
	require.True(t, g.files.Watched())
	require.Equal(t, wire.StateConfirmed, g.serve().prove(oneNonce).State)
}

// TestSessionReportsDeadWatchdog: while a command runs, the watchdog is killed, and no other one can be started. The
// host reports that before the result of the command.
func TestSessionReportsDeadWatchdog(t *testing.T) {
	g := newGuarded(t)
	c := g.serve()
	end := filepath.Join(c.dir, "end")
	cat := catalogOf(c, "r1", oneNonce, "new")
	cat.Entries = append(cat.Entries, wire.Entry{Type: "exec", Name: "wait", Properties: json.RawMessage(`{"name":"wait","command":"while ! test -e ` + end + `; do sleep 0.05; done","provider":"shell"}`)})
	c.send(&wire.Message{Catalog: cat})
	m := c.said()
	c.send(&wire.Message{Armed: &wire.Armed{Index: m.Arm.Index}})
	require.True(t, c.said().Arm.Set)
	g.refuse(errors.New("no memory"))
	g.end() // it is killed
	for m = c.said(); m.Watchdog == nil; m = c.said() {
		require.Nil(t, m.Done)
		require.False(t, m.Result != nil && m.Result.Index == 1)
	}
	require.Equal(t, &wire.Watchdog{Error: "no memory"}, m.Watchdog)
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	for m = c.said(); m.Done == nil; m = c.said() {
		require.True(t, m.Result != nil || m.Watchdog != nil)
	}
}

// TestCheckForetellsRevert: a check run reports an armed change, and predicts the host after its revert.
func TestCheckForetellsRevert(t *testing.T) {
	g := newGuarded(t)
	c := g.serve()
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "a"), []byte("old"), 0o644))
	c.run(catalogOf(c, "r1", oneNonce, "new"))
	check := func() (*wire.Result, string) {
		t.Helper()
		other := g.serve()
		other.dir = c.dir
		cat := catalogOf(other, "r2", anotherNonce, "new")
		cat.Check, cat.Lock, cat.Confirm = true, nil, nil
		said, _ := other.run(cat)
		for _, m := range said {
			if m.Result != nil {
				require.NotEmpty(t, m.Result.Messages)
				return m.Result, m.Result.Messages[0].Text
			}
		}
		t.Fatal("no result")
		return nil, ""
	}
	r, text := check()
	require.Equal(t, "changes of run r1 (ann@laptop) are armed and not confirmed: the host takes them back unless that run confirms them within 1m0s", text)
	require.Empty(t, r.Status)

	// The session and the watchdog are killed.
	require.NoError(t, c.input.Close())
	<-c.ended
	g.end()
	r, text = check()
	require.Contains(t, text, "no watchdog runs: unless that run confirms them within 1m0s, the next run that applies takes them back first (file#"+filepath.Join(c.dir, "a")+")")
	require.Equal(t, wire.Changed, r.Status)
	g.now.Add(int64(2 * time.Minute))
	r, text = check()
	require.Equal(t, "changes of run r1 (ann@laptop) are armed and not confirmed: the next run that applies takes them back first (file#"+filepath.Join(c.dir, "a")+"), and the predictions are made for the host after that", text)
	require.Equal(t, wire.Changed, r.Status)
	text2, err := os.ReadFile(filepath.Join(c.dir, "a"))
	require.NoError(t, err)
	require.Equal(t, "new", string(text2))
}

// TestQueryReportsArmedChange: a query reports an armed change, whose it is, which resources, and when it is
// taken back: while the watchdog counts down, after it has died, and after a restart of the host.
func TestQueryReportsArmedChange(t *testing.T) {
	g := newGuarded(t)
	c := g.serve()
	c.run(catalogOf(c, "r1", oneNonce, "new"))
	ask := func() string {
		t.Helper()
		other := g.serve()
		cat := &wire.Catalog{Entries: []wire.Entry{file(filepath.Join(c.dir, "a"), "")}}
		cat.Entries[0].Query, cat.Entries[0].Properties = modules.StatusQuery, json.RawMessage("{}")
		said, _ := other.run(cat)
		require.NotNil(t, said[0].Result, "%+v", said[0])
		require.NotEmpty(t, said[0].Result.Messages)
		return said[0].Result.Messages[0].Text
	}
	resource := " (file#" + filepath.Join(c.dir, "a") + "); armed at "
	require.Contains(t, ask(), "changes of run r1 (ann@laptop) are armed and not confirmed: the host takes them back unless that run confirms them within 1m0s"+resource)
	require.NoError(t, c.input.Close())
	<-c.ended
	g.end()
	require.Contains(t, ask(), ": no watchdog runs: unless that run confirms them within 1m0s, the next run that applies takes them back first"+resource)
	g.now.Add(int64(2 * time.Minute))
	require.Contains(t, ask(), ": the next run that applies takes them back first"+resource)
}
