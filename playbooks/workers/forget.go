package workers

import (
	"context"
	"sync"
	"time"
)

// A run that watches hosts continues for weeks, and gets questions all the time. So a coordinator forgets questions, assignments and
// certificates after a while, and recognizes later messages without remembering them: a question about a ticket has a stamp that expires,
// and the key of an assignment is derived from its id.

const (
	// maintainTime is the time between two calls of [run.forget].
	maintainTime = time.Minute
	// lateTime is the time for which messages of a worker are read after it has lost its hosts, or these have ended.
	lateTime = time.Hour
)

// maintain drops old data and renews tickets, until the run is closed.
func (r *run) maintain(ctx context.Context) {
	ticks := time.NewTicker(maintainTime)
	defer ticks.Stop()
	for {
		select {
		case now := <-ticks.C:
			r.forget(ctx, now)
			r.intake.renewTickets(ctx, now)
		case <-r.inbox.closed:
			return
		}
	}
}

// forget drops data that are not needed any more at a time, and deletes their objects.
func (r *run) forget(ctx context.Context, now time.Time) {
	r.dispatcher.forget(now)
	recipients, objects := r.ledger.forget(now)
	r.authority.forget(now)
	r.waste.add(append(objects, r.parcels.forget(now, recipients)...)...)
	r.waste.delete(ctx)
}

// A waste holds the names of objects that are not needed any more.
type waste struct {
	post *post

	mu    sync.Mutex
	names []string
}

func (w *waste) add(names ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = append(w.names, names...)
}

// delete deletes the objects. After an error it keeps the remaining ones for the next time.
func (w *waste) delete(ctx context.Context) {
	w.mu.Lock()
	names := w.names
	w.names = nil
	w.mu.Unlock()
	for i, name := range names {
		timed, cancel := context.WithTimeout(ctx, closeTime)
		err := w.post.run.Delete(timed, name)
		cancel()
		if err != nil {
			w.add(names[i:]...)
			return
		}
	}
}
