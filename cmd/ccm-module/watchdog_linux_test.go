package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

const nonceOfTests = "0123456789abcdefABCDEF"

// within is enough time for a slow machine to finish a catalog.
const within = 15 * time.Second

// unconfirmed returns a catalog whose changes all need confirmation: a file gets another text and mode, another one is
// made, and the entries in more follow.
func unconfirmed(dir string, more ...wire.Entry) *wire.Message {
	properties := func(name, text string) json.RawMessage {
		id := strconv.Itoa(os.Getuid())
		out, _ := json.Marshal(map[string]string{"name": filepath.Join(dir, name), "content": text, "mode": "0600", "owner": id, "group": strconv.Itoa(os.Getgid())})
		return out
	}
	entries := []wire.Entry{
		{Type: "file", Name: filepath.Join(dir, "a"), Properties: properties("a", "new")},
		{Type: "file", Name: filepath.Join(dir, "b"), Properties: properties("b", "b")},
	}
	return &wire.Message{Catalog: &wire.Catalog{
		Lock:    &wire.Lock{Holder: "ann@laptop", Run: "r1"},
		Once:    &wire.Once{Run: "r1", Play: 1},
		Confirm: &wire.Confirm{Mode: wire.ConfirmAlways, Within: within, Login: "deploy", Nonce: nonceOfTests},
		Entries: append(entries, more...),
	}}
}

// unchanged returns a folder with a file that a run will change.
func unchanged(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o640))
	require.NoError(t, os.Chmod(filepath.Join(dir, "a"), 0o640))
	return dir
}

// isBack reports whether the folder has its original content.
func isBack(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "a"))
	info, statErr := os.Stat(filepath.Join(dir, "a"))
	_, made := os.Stat(filepath.Join(dir, "b"))
	return err == nil && statErr == nil && string(text) == "old" && info.Mode().Perm() == 0o640 && os.IsNotExist(made)
}

// until returns the first message for which meant reports true. It answers a question for a second login with yes.
func (s *served) until(meant func(*wire.Message) bool) *wire.Message {
	s.t.Helper()
	for {
		m, err := s.conn.Receive()
		require.NoError(s.t, err, s.stderr)
		if meant(m) {
			return m
		}
		require.Nil(s.t, m.Refused)
		if m.Arm != nil {
			require.NoError(s.t, s.conn.Send(&wire.Message{Armed: &wire.Armed{Index: m.Arm.Index}}))
		}
	}
}

func done(m *wire.Message) bool { return m.Done != nil }

// TestWatchdog changes files with a real host program, and its controller never returns.
func TestWatchdog(t *testing.T) {
	program := hostProgram(t)
	hangs := script(t.TempDir(), "hangs", 100_000)
	for _, test := range []struct {
		name string
		idle string // timeout of the host program, see [serveFor]
		lose func(t *testing.T, s *served, dir string)
	}{
		{"the connection is cut at the end", "-", func(t *testing.T, s *served, dir string) {
			require.NoError(t, s.conn.Send(unconfirmed(dir)))
			require.Equal(t, within, s.until(done).Done.Armed)
			s.in.Close()
			s.out.Close()
		}},
		{"the controller is there, and confirms nothing", "-", func(t *testing.T, s *served, dir string) {
			require.NoError(t, s.conn.Send(unconfirmed(dir)))
			s.until(done)
		}},
		{"the program is killed", "-", func(t *testing.T, s *served, dir string) {
			require.NoError(t, s.conn.Send(unconfirmed(dir, hangs)))
			s.until(func(m *wire.Message) bool { return m.Result != nil && m.Result.Index == 1 })
			require.NoError(t, s.program.Process.Signal(syscall.SIGKILL))
		}},
		{"the program is stopped", "-", func(t *testing.T, s *served, dir string) {
			require.NoError(t, s.conn.Send(unconfirmed(dir)))
			s.until(done)
			require.NoError(t, s.program.Process.Signal(syscall.SIGSTOP))
		}},
		{"a resource hangs, and the controller is lost", "-@3000", func(t *testing.T, s *served, dir string) {
			require.NoError(t, s.conn.Send(unconfirmed(dir, hangs)))
			s.until(func(m *wire.Message) bool { return m.Result != nil && m.Result.Index == 1 })
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			own := filepath.Join(t.TempDir(), "own")
			require.NoError(t, os.Mkdir(own, 0o700))
			mine := filepath.Join(own, "ccm-module")
			require.NoError(t, os.Link(program, mine))
			dir := unchanged(t)
			s := serveFor(t, mine, test.idle)
			test.lose(t, s, dir)
			require.Eventually(t, func() bool { return isBack(dir) }, 5*time.Minute, 10*time.Millisecond)

			// The program reports the revert to every following session, check runs too, until one acknowledges it.
			check := &wire.Message{Catalog: &wire.Catalog{Check: true, Once: &wire.Once{Run: "r2", Play: 1}}}
			told := func() *wire.Reverted {
				next := serveReal(t, mine)
				require.NoError(t, next.conn.Send(check))
				m := next.until(func(m *wire.Message) bool { return m.Reverted != nil || m.Done != nil })
				if m.Reverted == nil {
					return nil
				}
				answer := &wire.Confirmed{State: wire.StateReverting} // the watchdog may still be active right after the note of its last step: try again
				for answer.State == wire.StateReverting {
					require.NoError(t, next.conn.Send(&wire.Message{Proof: &wire.Proof{Nonce: nonceOfTests}}))
					answer = next.until(func(m *wire.Message) bool { return m.Confirmed != nil }).Confirmed
				}
				require.Equal(t, wire.StateReverted, answer.State)
				require.Equal(t, m.Reverted, answer.Reverted)
				return m.Reverted
			}
			var r *wire.Reverted
			for begin := time.Now(); r == nil && time.Since(begin) < 5*time.Minute; { // not Eventually, whose condition is another goroutine
				r = told()
			}
			require.NotNil(t, r)
			require.Equal(t, "r1", r.Run)
			require.Equal(t, "ann@laptop", r.Holder)
			require.Equal(t, "no login confirmed the change within 15s", r.Why)
			require.Empty(t, r.Error)
			var names []string
			for _, one := range r.Results {
				if one.Status == wire.Changed {
					names = append(names, one.Type+"#"+filepath.Base(one.Name))
				}
			}
			require.Equal(t, []string{"file#b", "file#a"}, names, "the last one first")

			// A run that resumes the catalog is refused with the reason, and another one can begin.
			again := serveReal(t, mine)
			require.NoError(t, again.conn.Send(unconfirmed(dir)))
			refused := again.next()
			require.Equal(t, &wire.Refused{Phase: "confirm", Error: "the host has reverted the changes: no login confirmed the change within 15s"}, refused.Refused)
			require.NoError(t, again.conn.Send(&wire.Message{Ack: &wire.Ack{Run: "r1", Play: 1, Reverted: true}}))
			require.NoError(t, again.conn.Send(&wire.Message{Ping: &wire.Empty{}}))
			again.until(func(m *wire.Message) bool { return m.Pong != nil }) // by then it has been forgotten
			require.NoError(t, again.conn.Send(&wire.Message{Catalog: &wire.Catalog{Lock: &wire.Lock{Holder: "bob", Run: "r3", Wait: time.Hour}}}))
			again.until(done)
			again.in.Close()
			require.NoError(t, again.program.Wait())
			require.Nil(t, told())
			left, err := filepath.Glob(filepath.Join(own, "*confirm-*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// next returns the next message except pongs.
func (s *served) next() *wire.Message {
	return s.until(func(m *wire.Message) bool { return m.Pong == nil })
}

// TestConfirmed lets the controller return over another connection.
func TestConfirmed(t *testing.T) {
	program := hostProgram(t)
	dir := unchanged(t)
	s := serveReal(t, program)
	catalog := unconfirmed(dir)
	catalog.Catalog.Confirm.Within = wire.MaxConfirmWithin
	require.NoError(t, s.conn.Send(catalog))
	s.until(done)
	prove := func(nonce string) *wire.Confirmed {
		other := serveReal(t, program)
		require.NoError(t, other.conn.Send(&wire.Message{Proof: &wire.Proof{Nonce: nonce}}))
		return other.until(func(m *wire.Message) bool { return m.Confirmed != nil }).Confirmed
	}
	require.Equal(t, wire.StateUnknown, prove("anotherNonce1234567890").State)
	require.Equal(t, wire.StateConfirmed, prove(nonceOfTests).State)
	require.Equal(t, wire.StateConfirmed, prove(nonceOfTests).State, "as often as wanted")
	watch, err := filepath.Glob(filepath.Join(filepath.Dir(program), "*confirm.watch"))
	require.NoError(t, err)
	require.Len(t, watch, 1)
	f, err := os.OpenFile(watch[0], os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	require.Eventually(t, func() bool { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }, 5*time.Minute, 10*time.Millisecond, "the watchdog ends")
	require.False(t, isBack(dir))
	text, err := os.ReadFile(filepath.Join(dir, "a"))
	require.NoError(t, err)
	require.Equal(t, "new", string(text))
}

// TestNotArmed uses a controller that cannot log in a second time.
func TestNotArmed(t *testing.T) {
	program := hostProgram(t)
	dir := unchanged(t)
	s := serveReal(t, program)
	require.NoError(t, s.conn.Send(unconfirmed(dir)))
	var errs []string
	for {
		m, err := s.conn.Receive()
		require.NoError(t, err, s.stderr)
		if m.Arm != nil {
			require.Equal(t, "it has confirm: always", m.Arm.Why)
			require.NoError(t, s.conn.Send(&wire.Message{Armed: &wire.Armed{Index: m.Arm.Index, Error: "no route"}}))
		}
		if m.Result != nil {
			require.Equal(t, wire.Failed, m.Result.Status)
			errs = append(errs, m.Result.Error)
		}
		if m.Done != nil {
			require.Zero(t, m.Done.Armed)
			break
		}
	}
	const want = "not done, because it has confirm: always, and a second login fails, so ccm-push could not confirm the change: no route"
	require.Equal(t, []string{want, want}, errs)
	require.True(t, isBack(dir))
	left, err := filepath.Glob(filepath.Join(filepath.Dir(program), "*confirm*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
