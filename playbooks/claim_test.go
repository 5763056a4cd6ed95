package playbooks

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClaimOutlivesAStop stops a run on a worker while a host holds a semaphore: the coordinator learns of the release when
// the entry ends, not when the run is stopped.
func TestClaimOutlivesAStop(t *testing.T) {
	for _, test := range []struct {
		name    string
		abandon bool
	}{{"released", false}, {"abandoned", true}} {
		t.Run(test.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			releases := make(chan bool, 2)
			asks := &asking{waiting: func() {}, Controller: fakeController(func(q Question) Answer {
				if _, is := q.(Release); is {
					releases <- true
				}
				return Answer{Value: json.RawMessage("null")}
			})}
			turn := asks.claims(ctx, "web1", Claims{Index: 1, Semaphores: []string{"door:1"}})
			<-turn.Granted()
			stop()
			require.Never(t, func() bool { return len(releases) > 0 }, 100*time.Millisecond, 10*time.Millisecond)
			if test.abandon {
				turn.Abandon("web1", "exec#long", 0)
			} else {
				turn.Release()
			}
			asks.telling.Wait()
			require.Equal(t, !test.abandon, len(releases) == 1)
		})
	}
}
