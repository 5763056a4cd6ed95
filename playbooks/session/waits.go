package session

import (
	"sync"
	"time"
)

// waits are those of one host for others, during one catalog. While it waits and
// holds no semaphore itself, its time stands still: what takes long is then another
// host, which has a limit of its own. One that holds a semaphore has all its time
// counted, or it could keep others waiting for as long as it likes.
type waits struct {
	mu    sync.Mutex
	asked int       // questions without an answer
	held  int       // turns that it has
	since time.Time // when its time began to stand still; zero while it runs
	total time.Duration
	woke  time.Time // when its time last went on
}

// note adds to what is asked and what is held.
func (w *waits) note(asked, held int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked += asked
	w.held += held
	idle := w.asked > 0 && w.held == 0
	switch now := time.Now(); {
	case idle && w.since.IsZero():
		w.since = now
	case !idle && !w.since.IsZero():
		w.total += now.Sub(w.since)
		w.woke, w.since = now, time.Time{}
	}
}

// idle gives how long its time has stood still so far, whether it does now, and when
// it last went on.
func (w *waits) idle() (total time.Duration, now bool, woke time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	total = w.total
	if now = !w.since.IsZero(); now {
		total += time.Since(w.since)
	}
	return total, now, w.woke
}
