package session

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// NoDeadline is longer than any run.
const NoDeadline = time.Duration(math.MaxInt64)

// A resourceTimer notices that a host has reported no result for too long. The zero
// value never does.
type resourceTimer struct {
	limit time.Duration
	timer *time.Timer
	since time.Time
	sent  *atomic.Int64 // when a part of a content was last sent, in nanoseconds since 1970
	waits *waits        // while it waits for other hosts, nothing is late
}

// timeResources begins with the first resource of a catalog, for which the host may have to
// wait for its lock.
func (s *Session) timeResources(limit time.Duration, lock *wire.Lock) *resourceTimer {
	w := &resourceTimer{limit: limit, sent: &s.sent, waits: &s.waits}
	if w.limit == 0 || w.limit == NoDeadline {
		return &resourceTimer{}
	}
	first := w.limit
	if lock != nil {
		first += lock.Wait
	}
	w.since = time.Now().Add(first - w.limit)
	w.timer = time.NewTimer(first)
	return w
}

// fired is ready when the time may be over.
func (w *resourceTimer) fired() <-chan time.Time {
	if w.timer == nil {
		return nil
	}
	return w.timer.C
}

// restart notes that there was a result.
func (w *resourceTimer) restart() {
	if w.timer != nil {
		w.since = time.Now()
		w.timer.Reset(w.limit)
	}
}

// over reports whether the time is over. If not, it is counted on.
func (w *resourceTimer) over() bool {
	since := w.since
	if sent := time.Unix(0, w.sent.Load()); sent.After(since) {
		since = sent
	}
	_, idle, woke := w.waits.idle()
	if woke.After(since) {
		since = woke
	}
	remaining := time.Until(since.Add(w.limit))
	if idle {
		remaining = w.limit
	}
	if remaining > 0 {
		w.timer.Reset(remaining)
	}
	return remaining <= 0
}

func (w *resourceTimer) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// late is the deadline that the first resource without a result has missed.
func (c *catalogRun) late(limit time.Duration) *Late {
	entries := c.catalog.Entries
	for i, seen := range c.reported {
		if !seen {
			return &Late{What: entries[i].Ref(), Limit: limit}
		}
	}
	return &Late{What: "the end of the catalog", Limit: limit}
}

// HostTime is the time of a host for a play, and what remains of it; the zero value is any
// time.
type HostTime struct{ Limit, Remaining time.Duration }

func (h HostTime) late() *Late { return &Late{What: "the host", Limit: h.Limit} }

// A hostTimer notices that a host has had its time.
type hostTimer struct {
	remaining time.Duration // when it began
	began     time.Time
	idle      time.Duration // idle time up to then
	timer     *time.Timer   // nil if there is no limit
	waits     *waits
}

func timeHost(h HostTime, w *waits) *hostTimer {
	if h.Limit == 0 {
		return &hostTimer{}
	}
	idle, _, _ := w.idle()
	return &hostTimer{remaining: h.Remaining, began: time.Now(), idle: idle, timer: time.NewTimer(h.Remaining), waits: w}
}

// fired is ready when the time may be over.
func (h *hostTimer) fired() <-chan time.Time {
	if h.timer == nil {
		return nil
	}
	return h.timer.C
}

// over reports whether the time is over. If not, it is counted on.
func (h *hostTimer) over() bool {
	idle, now, _ := h.waits.idle()
	remaining := h.remaining - (time.Since(h.began) - (idle - h.idle))
	if remaining <= 0 && !now {
		return true
	}
	h.timer.Reset(max(remaining, idleCheck))
	return false
}

func (h *hostTimer) stop() {
	if h.timer != nil {
		h.timer.Stop()
	}
}

// idleCheck is the interval at which a waiting host whose time is nearly over is checked.
const idleCheck = time.Second
