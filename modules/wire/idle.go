package wire

import (
	"cmp"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// IdleTimeout is the time without a byte after which either side considers the other one dead, unless the controller
// sets another time.
const IdleTimeout = 60 * time.Second

// pingInterval is the longest time between two pings of the controller.
const pingInterval = 10 * time.Second

// PingInterval returns the time between two pings for an idle timeout; 0 means [IdleTimeout].
// One ping may come late without harm.
func PingInterval(idle time.Duration) time.Duration {
	return min(pingInterval, cmp.Or(idle, IdleTimeout)/3)
}

// Idle sessions send pings and pongs only, and there may be thousands of sessions. So a ping is encoded once, and a
// pong is read without a decoder.
const (
	pingLine = `{"ping":{}}` + "\n"
	pongLine = `{"pong":{}}` + "\n"
)

var pingPacket = sync.OnceValue(func() []byte {
	if compressed {
		return deflate([]byte(pingLine)).Bytes()
	}
	return []byte(pingLine)
})

// Ping sends a ping.
func (c *Conn) Ping() error { return c.SendPacket(pingPacket()) }

// An IdleReader is an input that knows for how long a Read has been waiting for bytes.
// Any byte counts, so a long message is not idle time; nor is the time between Reads,
// since a slow terminal holds up its reader.
type IdleReader struct {
	in    io.Reader
	now   func() time.Time
	limit time.Duration
	begun time.Time
	since atomic.Int64 // ns after begun at which the wait began; 0 if no Read waits
}

// NewIdleReader returns a reader of in whose Read fails after limit; 0 means [IdleTimeout]. Changes of the wall clock
// do not matter if now returns times with a monotonic reading.
func NewIdleReader(in io.Reader, now func() time.Time, limit time.Duration) *IdleReader {
	return &IdleReader{in: in, now: now, limit: cmp.Or(limit, IdleTimeout), begun: now()}
}

func (r *IdleReader) elapsed() time.Duration { return r.now().Sub(r.begun) }

// Read implements io.Reader.
func (r *IdleReader) Read(p []byte) (int, error) {
	r.since.Store(max(1, int64(r.elapsed())))
	defer r.since.Store(0)
	return r.in.Read(p)
}

// Silent returns how long a Read has waited for bytes; 0 if no Read waits.
func (r *IdleReader) Silent() time.Duration {
	since := r.since.Load()
	if since == 0 {
		return 0
	}
	return r.elapsed() - time.Duration(since)
}

// TimedOut waits until a Read has waited for the limit, or until ctx ends:
// then it returns false.
func (r *IdleReader) TimedOut(ctx context.Context) bool {
	for {
		remaining := r.limit
		if since := r.since.Load(); since != 0 {
			remaining -= r.elapsed() - time.Duration(since)
		}
		if remaining <= 0 {
			return true
		}
		timer := time.NewTimer(remaining)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}
