package modules

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// MaxSilence is how long either side waits for a byte of the other before it
// takes the other for dead; PingInterval is how often the controller pings.
const (
	MaxSilence   = 60 * time.Second
	PingInterval = 10 * time.Second
)

// A Hearing is an input that knows for how long it has been waiting for bytes.
// Any byte counts, so a long message is no silence; and neither is the time in
// which nobody reads, because a slow terminal holds up the one who listens.
type Hearing struct {
	in    io.Reader
	now   func() time.Time
	begun time.Time
	since atomic.Int64 // ns after begun at which the wait began; 0 if nobody waits
}

// Listen begins to listen to in. Changes of the wall clock do not matter, as
// long as now gives times with a monotonic reading.
func Listen(in io.Reader, now func() time.Time) *Hearing {
	return &Hearing{in: in, now: now, begun: now()}
}

func (h *Hearing) elapsed() time.Duration { return h.now().Sub(h.begun) }

// Read implements io.Reader.
func (h *Hearing) Read(p []byte) (int, error) {
	h.since.Store(max(1, int64(h.elapsed())))
	defer h.since.Store(0)
	return h.in.Read(p)
}

// Silence waits until a Read has waited for [MaxSilence], or until ctx ends:
// then it returns false.
func (h *Hearing) Silence(ctx context.Context) bool {
	for {
		left := MaxSilence
		if since := h.since.Load(); since != 0 {
			left -= h.elapsed() - time.Duration(since)
		}
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}
