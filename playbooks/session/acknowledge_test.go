package session

import (
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestAcknowledgedWhenRecorded checks that a host may forget its changes only when they are recorded, and that nothing
// waits if there are none.
func TestAcknowledgedWhenRecorded(t *testing.T) {
	untold := &wire.Message{Untold: &wire.Untold{Run: "r0", Play: 1}}
	for _, tt := range []struct {
		name     string
		messages []*wire.Message
		want     []string
	}{
		{"stable", []*wire.Message{{Result: &wire.Result{}}}, []string{"emit", "ack r1"}},
		{"changed", []*wire.Message{{Result: &wire.Result{Status: wire.Changed}}}, []string{"emit", "sync", "ack r1"}},
		{"failed", []*wire.Message{{Result: &wire.Result{Status: wire.Failed}}}, []string{"emit", "sync", "ack r1"}},
		{"untold", []*wire.Message{untold, {Result: &wire.Result{}}}, []string{"untold", "emit", "sync", "ack r0", "ack r1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var did []string
				note := func(what string) {
					mu.Lock()
					defer mu.Unlock()
					did = append(did, what)
				}
				c := one()
				c.Catalog.Lock, c.Catalog.Once = &wire.Lock{}, &wire.Once{Run: "r1", Play: 1}
				task := task(c)
				task.Emit = func(*wire.Result) { note("emit") }
				task.Untold = func(*wire.Untold) bool { note("untold"); return true }
				task.Sync = func() bool {
					time.Sleep(time.Second)
					note("sync")
					return true
				}
				p := newPuppet()
				s := New(t.Context(), p, time.Now, 0)
				var host sync.WaitGroup
				host.Go(func() {
					_, err := p.conn.Receive()
					require.NoError(t, err)
					require.NoError(t, p.conn.Send(append(tt.messages, &wire.Message{Done: &wire.Done{}})...))
					for range len(tt.want) {
						m, err := p.conn.Receive()
						if err != nil {
							return
						}
						if m.Ack != nil {
							note("ack " + m.Ack.Run)
						}
					}
					io.Copy(io.Discard, p.in)
				})
				_, err := s.Apply(t.Context(), nil, task)
				require.NoError(t, err)
				synctest.Wait()
				p.cut()
				s.Close()
				host.Wait()
				require.Equal(t, tt.want, did)
			})
		})
	}
}
