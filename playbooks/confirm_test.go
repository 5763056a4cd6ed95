package playbooks

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/confirm"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// guardedPlay has two resources; the host of guardedWorld has to confirm the first one. Its deadline does not pass
// during a test; the deadline of waitingPlay does.
const guardedPlay = "confirm_within: 10m\n" + twoExecs

const waitingPlay = "confirm_within: 5s\n" + twoExecs

const twoExecs = `
ccm:
  pre_message: begins
  resources:
    - exec: ["true": ]
    - exec: ["false": ]
`

// guardedWorld has a simulated host: answers has its answers when a change of its first resource must be confirmed, see
// testdata/fake/confirm.go.
func guardedWorld(t *testing.T, answers, play string, options ...sshtest.Option) (*world, *sshtest.Server) {
	srv := sshtest.Start(t, append(options, sshtest.Env("FAKE=confirm:"+answers))...)
	w := newWorld(t, map[string]*sshtest.Server{"web1": srv}, play).fake(t)
	w.Options.NoLock, w.Options.Reconnect = false, time.Minute
	return w, srv
}

// A gatekeeper refuses a number of logins.
type gatekeeper struct{ refuse atomic.Int64 }

func (g *gatekeeper) option() sshtest.Option {
	return sshtest.Auth(func(c *ssh.ServerConfig) {
		accept := c.PublicKeyCallback
		c.PublicKeyCallback = func(conn ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if g.refuse.Add(-1) >= 0 {
				return nil, errors.New("not now")
			}
			return accept(conn, key)
		}
	})
}

// refuseAt has logins refused from an event on.
func (g *gatekeeper) refuseAt(w *world, logins int64, when func(events.Event) bool) {
	w.recorded.watch = func(e events.Event) {
		if when(e) {
			g.refuse.Store(logins)
		}
	}
}

func isArmed(e events.Event) bool {
	_, armed := e.(events.Armed)
	return armed
}

// acknowledged reports whether a host has got the acknowledgement of its revert.
func acknowledged(t *testing.T, srv *sshtest.Server) func() bool {
	return func() bool {
		_, err := os.Stat(filepath.Join(srv.Home, "acks"))
		return err == nil
	}
}

// TestConfirmed has a change kept that is confirmed by a login of its own, over a connection of its own.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	w, srv := guardedWorld(t, "confirmed", guardedPlay)
	lines := w.run(t)
	require.Equal(t, []string{"play site 1/1: web1", "web1 pre: begins", "web1 armed by exec#true", "web1 exec#true changed", "web1 exec#false stable", "web1 confirmed, at 1 places", "web1 done: ok"}, lines)
	require.EqualValues(t, 3, srv.Stats().Connections, "the play, the proof that a second login works, and the confirmation")
	require.Zero(t, w.Tally.Summary(false).ExitStatus(false))
}

// TestRefusedWithoutASecondLogin has nothing changed where it could not be confirmed.
func TestRefusedWithoutASecondLogin(t *testing.T) {
	t.Parallel()
	gate := &gatekeeper{}
	w, srv := guardedWorld(t, "confirmed", guardedPlay, gate.option())
	gate.refuseAt(w, 100, func(e events.Event) bool { _, begins := e.(events.Message); return begins })
	lines := w.run(t)
	require.Equal(t, []string{"play site 1/1: web1", "web1 pre: begins", "web1 exec#true failed", "web1 exec#false stable", "web1 done: failed"}, lines)
	require.Contains(t, w.text.String(), "authenticate "+srv.Addr+": authentication refused")
	require.NoFileExists(t, filepath.Join(srv.Home, "asked"))
}

// TestReverted uses hosts with unconfirmed changes. Each host reports its revert in its own way.
func TestReverted(t *testing.T) {
	t.Parallel()
	const back = `web1 reverted "": no login confirmed the change within 5s; `
	for _, test := range []struct {
		name    string
		play    string
		answers string
		refused int64
		want    string
	}{
		{"nobody is let in", waitingPlay, "reverting,reverted", confirm.MaxRefused, back},
		{"the login comes too late", guardedPlay, "reverting,reverting,reverted", 0, back + "the login came too late"},
		{"the connection is lost", guardedPlay, "lost,reverted", 0, back + "exit status 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gate := &gatekeeper{}
			w, srv := guardedWorld(t, test.answers, test.play, gate.option())
			gate.refuseAt(w, test.refused, isArmed)
			all := strings.Join(w.run(t), "\n")
			require.Contains(t, all, test.want)
			require.Contains(t, all, "web1 done: failed")
			require.NotContains(t, all, "failed in")
			require.Equal(t, 18, w.Tally.Summary(false).ExitStatus(false))
			require.Eventually(t, acknowledged(t, srv), time.Minute, 10*time.Millisecond)
		})
	}
}

// TestNotConfirmed has hosts whose changes are in an unknown state: that does not count as confirmed.
func TestNotConfirmed(t *testing.T) {
	t.Parallel()
	w, _ := guardedWorld(t, "unknown", guardedPlay)
	lines := w.run(t)
	require.Contains(t, lines, "web1 failed in confirm")
	phase, text := w.recorded.failure("web1")
	require.Equal(t, confirm.Phase, phase)
	require.Equal(t, "the login came too late; the host knows of no change that waits to be confirmed", text)
	require.Equal(t, 2, w.Tally.Summary(false).ExitStatus(false))
}

// loginKey returns the key that a server accepts.
func loginKey(t *testing.T, srv *sshtest.Server) ssh.PublicKey {
	text, err := os.ReadFile(srv.KeyFile)
	require.NoError(t, err)
	signer, err := ssh.ParsePrivateKey(text)
	require.NoError(t, err)
	return signer.PublicKey()
}

// TestConfirmVia reaches a host that has moved: at each of the addresses that the play names, with its known host key.
func TestConfirmVia(t *testing.T) {
	t.Parallel()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	key, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	same := func(c *sshtest.Config) { c.HostKeys = []ssh.Signer{key} }
	for _, test := range []struct {
		name  string
		play  string
		moved sshtest.Option
		want  string
	}{
		{"there", guardedPlay, same, "web1 confirmed, at 2 places"},
		{"another host", waitingPlay, sshtest.Env("X=Y"), `web1 reverted "": no login confirmed the change within 5s; `},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := sshtest.Start(t, same, sshtest.Env("FAKE=confirm:reverted"))
			moved := sshtest.Start(t, test.moved, sshtest.AuthorizedKeys(loginKey(t, srv)), sshtest.Env("FAKE=confirm:confirmed"))
			play := fmt.Sprintf("\nconfirm_via: [\"{{ '127.0.0.1' }}\", \":%d\"]\n", moved.Port) + test.play
			w := newWorld(t, map[string]*sshtest.Server{"web1": srv}, play).fake(t)
			w.Options.NoLock = false
			require.Contains(t, strings.Join(w.run(t), "\n"), test.want)
		})
	}
}

// TestMovedInTheMidst changes the address of a host during the play: the rest of the play runs, and everything is
// confirmed, at the new address.
func TestMovedInTheMidst(t *testing.T) {
	t.Parallel()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	key, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	same := func(c *sshtest.Config) { c.HostKeys = []ssh.Signer{key} }
	srv := sshtest.Start(t, same, sshtest.Env("FAKE=confirm:moved,reverted"))
	moved := sshtest.Start(t, same, sshtest.AuthorizedKeys(loginKey(t, srv)), sshtest.Env("FAKE=confirm:moved,confirmed"))
	w := newWorld(t, map[string]*sshtest.Server{"web1": srv}, fmt.Sprintf("confirm_via: [\":%d\"]\n", moved.Port)+guardedPlay).fake(t)
	w.Options.NoLock, w.Options.Reconnect = false, time.Minute
	var moving sync.WaitGroup
	w.recorded.watch = func(e events.Event) {
		if r, is := e.(events.Result); is && r.Name == "true" {
			moving.Go(func() { srv.Close() })
		}
	}
	lines := w.run(t)
	moving.Wait()
	require.Equal(t, []string{"play site 1/1: web1", "web1 pre: begins", "web1 armed by exec#true", "web1 exec#true changed", "web1 exec#false stable", "web1 confirmed, at 1 places", "web1 done: ok"}, lines)
	require.Contains(t, w.text.String(), "web1  reconnected")
}

// TestUnfinished: a change is not confirmed while what brings it into force is missing.
func TestUnfinished(t *testing.T) {
	file, restart := wire.Entry{Type: "file", Name: "/etc/ssh/sshd_config"}, wire.Entry{Type: "service", Name: "sshd", Subscribe: []int{0}}
	other := wire.Entry{Type: "exec", Name: "other"}
	const missing = "service#sshd depends on a change that has to be confirmed, and was not applied"
	for _, test := range []struct {
		name    string
		entries []wire.Entry
		results []wire.Result
		want    string
	}{
		{"restarted", []wire.Entry{file, restart}, []wire.Result{{Status: wire.Changed}, {Index: 1, Status: wire.Changed}}, ""},
		{"not restarted", []wire.Entry{file, restart}, []wire.Result{{Status: wire.Changed}}, missing},
		{"the restart has failed", []wire.Entry{file, restart}, []wire.Result{{Status: wire.Changed}, {Index: 1, Status: wire.Failed}}, missing},
		{"the restart was skipped", []wire.Entry{file, restart}, []wire.Result{{Status: wire.Changed}, {Index: 1, Status: wire.Skipped}}, missing},
		{"nothing to restart for", []wire.Entry{file, restart}, []wire.Result{{Status: wire.Stable}}, ""},
		{"another one has failed", []wire.Entry{file, restart, other}, []wire.Result{{Status: wire.Changed}, {Index: 1, Status: wire.Changed}, {Index: 2, Status: wire.Failed}}, ""},
		{"not managed", []wire.Entry{file, {Type: "service", Name: "sshd", Subscribe: []int{0}, Excluded: true}}, []wire.Result{{Status: wire.Changed}, {Index: 1, Status: wire.Skipped}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newCatalogProgress(&wire.Catalog{Entries: test.entries})
			for i := range test.results {
				p.Note(&test.results[i])
			}
			require.Equal(t, test.want, p.unfinished(0))
		})
	}
}
