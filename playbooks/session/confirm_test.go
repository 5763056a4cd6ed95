package session

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

const nonce = "0123456789abcdef"

// guardedTask is a catalog whose changes have to be confirmed.
func guardedTask() Task {
	c := one()
	c.Catalog.Lock = &wire.Lock{}
	c.Catalog.Confirm = &wire.Confirm{Mode: wire.ConfirmAuto, Within: time.Minute, Login: "deploy", Nonce: nonce}
	t := task(c)
	t.Arm = func(context.Context, int, string) error { return nil }
	return t
}

// TestArm uses a host that requests a login test, and receives its success or the reason of its failure.
func TestArm(t *testing.T) {
	for _, want := range []string{"", "refused: no second login works"} {
		task := guardedTask()
		var asked, why string
		var within time.Duration
		task.Arm = func(_ context.Context, index int, text string) error {
			asked, why = task.Compiled.Catalog.Entries[index].Name, text
			if want != "" {
				return errors.New(want)
			}
			return nil
		}
		task.Armed = func(d time.Duration) { within = d }
		_, err := converseOn(t, task, func(p *puppet) {
			_, err := p.conn.Receive()
			require.NoError(t, err)
			require.NoError(t, p.conn.Send(&wire.Message{Arm: &wire.Arm{Why: "it may touch the firewall"}}))
			m, err := p.conn.Receive()
			require.NoError(t, err)
			require.Equal(t, &wire.Armed{Error: want}, m.Armed)
			require.NoError(t, p.conn.Send(&wire.Message{Result: &wire.Result{}}, &wire.Message{Done: &wire.Done{Armed: time.Minute}}))
		})
		require.NoError(t, err)
		require.Equal(t, "true", asked)
		require.Equal(t, "it may touch the firewall", why)
		require.Equal(t, time.Minute, within)
	}
}

// TestConfirmBreaches are hosts that speak of confirming out of turn.
func TestConfirmBreaches(t *testing.T) {
	arm := func(i int) *wire.Message { return &wire.Message{Arm: &wire.Arm{Index: i}} }
	result := &wire.Message{Result: &wire.Result{}}
	reverted := &wire.Message{Reverted: &wire.Reverted{Run: "r0", Play: 1}}
	many := make([]*wire.Message, wire.MaxUntoldCatalogs+1)
	for i := range many {
		many[i] = reverted
	}
	for _, tt := range []struct {
		name  string
		task  Task
		says  []*wire.Message
		error string
	}{
		{"nothing is to be confirmed", task(one()), []*wire.Message{arm(0)}, "the host requests a second login for a catalog that needs no confirmation"},
		{"no such resource", guardedTask(), []*wire.Message{arm(1)}, "the host requests a second login for resource 1 of 1"},
		{"reported", guardedTask(), []*wire.Message{result, arm(0)}, "the host requests a second login for resource 0, which it has reported"},
		{"twice", guardedTask(), []*wire.Message{arm(0), arm(0)}, "the host requests a second login for resource 0 twice"},
		{"reverted behind a result", guardedTask(), []*wire.Message{result, reverted}, "the host reports reverted changes after its first result"},
		{"reverted often", guardedTask(), many, "the host has taken back more than 20 catalogs"},
		{"armed without", task(one()), []*wire.Message{result, {Done: &wire.Done{Armed: time.Second}}}, "the host waits for a confirmation that was not requested"},
		{"no watchdog", task(one()), []*wire.Message{{Watchdog: &wire.Watchdog{}}}, "the host reports the end of a watchdog that it does not have, or too often"},
		{"an answer", guardedTask(), []*wire.Message{{Confirmed: &wire.Confirmed{Nonce: nonce, State: wire.StateConfirmed}}}, "the host sent a message that only the controller sends"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := converseOn(t, tt.task, func(p *puppet) {
				if _, err := p.conn.Receive(); err == nil {
					_ = p.conn.Send(tt.says...)
				}
				for err := error(nil); err == nil; {
					_, err = p.conn.Receive()
				}
			})
			require.EqualError(t, err, tt.error)
			require.ErrorAs(t, err, &Breach{})
		})
	}
}

// TestRevertedIsAcknowledged checks that reverted changes are acknowledged when they are recorded; without a receiver
// the host reports them again.
func TestRevertedIsAcknowledged(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		task := guardedTask()
		var told []string
		if wanted {
			task.Reverted = func(r *wire.Reverted) { told = append(told, r.Run) }
			task.Sync = func() bool {
				told = append(told, "sync")
				return true
			}
		}
		_, err := converseOn(t, task, func(p *puppet) {
			_, err := p.conn.Receive()
			require.NoError(t, err)
			require.NoError(t, p.conn.Send(&wire.Message{Reverted: &wire.Reverted{Run: "r0", Play: 2}}, &wire.Message{Result: &wire.Result{}}, &wire.Message{Done: &wire.Done{}}))
			if wanted {
				m, err := p.conn.Receive()
				require.NoError(t, err)
				require.Equal(t, &wire.Ack{Run: "r0", Play: 2, Reverted: true}, m.Ack)
			}
		})
		require.NoError(t, err)
		if wanted {
			require.Equal(t, []string{"r0", "sync"}, told)
		}
	}
}

// TestProve queries the state of a change.
func TestProve(t *testing.T) {
	confirmed := &wire.Message{Confirmed: &wire.Confirmed{Nonce: nonce, State: wire.StateConfirmed}}
	other := &wire.Message{Confirmed: &wire.Confirmed{Nonce: nonce + "x", State: wire.StateConfirmed}}
	const odd = "the host does not answer whether it keeps its changes"
	for _, tt := range []struct {
		name  string
		says  []*wire.Message
		error string
	}{
		{"confirmed", []*wire.Message{confirmed}, ""},
		{"of another one", []*wire.Message{other}, odd},
		{"more", []*wire.Message{confirmed, confirmed}, odd},
		{"a result", []*wire.Message{{Result: &wire.Result{}}}, odd},
		{"nothing", nil, "the connection was closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPuppet()
				s := New(t.Context(), p, time.Now, 0)
				var host sync.WaitGroup
				host.Go(func() {
					m, err := p.conn.Receive()
					require.NoError(t, err)
					require.Equal(t, &wire.Proof{Nonce: nonce}, m.Proof)
					if len(tt.says) == 0 {
						p.cut()
						return
					}
					require.NoError(t, p.conn.Send(tt.says...))
				})
				answer, err := s.Prove(t.Context(), nonce)
				host.Wait()
				p.cut()
				s.Close()
				if tt.error != "" {
					require.EqualError(t, err, tt.error)
					return
				}
				require.NoError(t, err)
				require.Equal(t, wire.StateConfirmed, answer.State)
			})
		})
	}
}

// TestWatchdogReport: a report that a watchdog has ended is handed on at once, also after the end of the catalog.
func TestWatchdogReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task := guardedTask()
		heard := make(chan string)
		task.Watchdog = func(w *wire.Watchdog) { heard <- w.Error }
		p := newPuppet()
		s := New(t.Context(), p, time.Now, 0)
		var host sync.WaitGroup
		host.Go(func() {
			_, err := p.conn.Receive()
			require.NoError(t, err)
			require.NoError(t, p.conn.Send(&wire.Message{Watchdog: &wire.Watchdog{Error: "no memory"}}))
			require.Equal(t, "no memory", <-heard)
			require.NoError(t, p.conn.Send(&wire.Message{Result: &wire.Result{}}, &wire.Message{Done: &wire.Done{Armed: time.Minute}}))
			require.NoError(t, p.conn.Send(&wire.Message{Watchdog: &wire.Watchdog{}}))
			require.Empty(t, <-heard)
		})
		_, err := s.Apply(t.Context(), nil, task)
		require.NoError(t, err)
		host.Wait() // the connection stays open until the second report has come
		p.cut()
		s.Close()
	})
}
