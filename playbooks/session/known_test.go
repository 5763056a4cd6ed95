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

// TestKnown continues a catalog whose result has arrived before: it is reported again only if the entry has run again
// with a change or a failure.
func TestKnown(t *testing.T) {
	for _, tt := range []struct {
		name   string
		result wire.Result
		check  bool
		told   bool
	}{
		{name: "kept", result: wire.Result{Kept: true, Status: wire.Changed}},
		{name: "kept failure", result: wire.Result{Kept: true, Status: wire.Failed}},
		{name: "again, stable"},
		{name: "again, skipped", result: wire.Result{Status: wire.Skipped}},
		{name: "again, changed", result: wire.Result{Status: wire.Changed}, told: true},
		{name: "again, failed", result: wire.Result{Status: wire.Failed}, told: true},
		{name: "predicted again", result: wire.Result{Status: wire.Changed}, check: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := 0
				task := task(one())
				task.Compiled.Catalog.Check = tt.check
				task.Known = []bool{true}
				task.Emit = func(*wire.Result) { told++ }
				p := newPuppet()
				s := New(t.Context(), p, time.Now, 0)
				var host sync.WaitGroup
				host.Go(func() {
					_, err := p.conn.Receive()
					require.NoError(t, err)
					require.NoError(t, p.conn.Send(&wire.Message{Result: &tt.result}, &wire.Message{Done: &wire.Done{}}))
					io.Copy(io.Discard, p.in)
				})
				whole, err := s.Apply(t.Context(), nil, task)
				require.NoError(t, err)
				require.True(t, whole)
				p.cut()
				s.Close()
				host.Wait()
				require.Equal(t, tt.told, told == 1)
			})
		})
	}
}
