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

// A Hearing is an input that knows when its last bytes came in. Any byte counts,
// so a long message is no silence.
type Hearing struct {
	in   io.Reader
	now  func() time.Time
	last atomic.Int64 // Unix time in ns
}

// Listen begins to listen to in.
func Listen(in io.Reader, now func() time.Time) *Hearing {
	h := &Hearing{in: in, now: now}
	h.last.Store(now().UnixNano())
	return h
}

// Read implements io.Reader.
func (h *Hearing) Read(p []byte) (int, error) {
	n, err := h.in.Read(p)
	h.last.Store(h.now().UnixNano())
	return n, err
}

// Silence waits until nothing has been heard for [MaxSilence], or until ctx
// ends: then it returns false.
func (h *Hearing) Silence(ctx context.Context) bool {
	for {
		left := MaxSilence - h.now().Sub(time.Unix(0, h.last.Load()))
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
