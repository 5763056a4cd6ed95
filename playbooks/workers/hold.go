package workers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// errLost reports that other workers may have a lease by now.
var errLost = errors.New("this worker stops: it was suspended, or NATS does not answer, so other workers may have taken its hosts")

// hold extends a lease until end is called. The returned context ends when other workers may get the lease; if the
// queue does not answer, it ends well before that.
func hold(ctx context.Context, lease queue.Lease) (held context.Context, end func()) {
	held, lose := context.WithCancelCause(ctx)
	done := make(chan struct{})
	var extending sync.WaitGroup
	extending.Go(func() { extend(held, lease, done, lose) })
	return held, func() {
		close(done)
		extending.Wait()
		lose(nil)
	}
}

func extend(ctx context.Context, lease queue.Lease, done <-chan struct{}, lose func(error)) {
	lasts := lease.Lasts()
	ticks := time.NewTicker(lasts / 5)
	defer ticks.Stop()
	lasts -= lasts / 6
	for until := time.Now().Add(lasts); ; {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		var err error
		if began := time.Now(); !over(until) {
			once, cancel := context.WithDeadline(ctx, until)
			if err = lease.Extend(once); err == nil {
				until = began.Add(lasts)
			}
			cancel()
		}
		switch {
		case !over(until):
		case err != nil:
			lose(fmt.Errorf("%w: %w", errLost, err))
			return
		default:
			lose(errLost)
			return
		}
	}
}

// over reports whether a time has passed by either of the two clocks: the system's may have been set, and the other one
// stops while the machine is suspended.
func over(until time.Time) bool {
	now := time.Now()
	return !now.Before(until) || !now.Round(0).Before(until.Round(0))
}
