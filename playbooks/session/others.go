package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules/excerpt"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// turn has an entry wait for its semaphores, or release them. The answer comes when it
// holds them all, which may take as long as other hosts do.
func (c *catalogRun) turn(ctx context.Context, m *wire.Semaphore) error {
	entries := c.catalog.Entries
	switch {
	case m.Index < 0 || m.Index >= len(entries) || len(entries[m.Index].Sema) == 0:
		return breach("the host requests semaphores of resource %d, which has none", m.Index)
	case m.Release:
		c.release(m.Index)
		return nil
	case c.reported[m.Index]:
		return breach("the host requests semaphores of resource %d, which it has reported", m.Index)
	case c.turns[m.Index] != nil && !hasFailed(c.turns[m.Index]):
		return breach("the host requests the semaphores of resource %d twice", m.Index)
	}
	c.release(m.Index) // it is another try
	claims, err := share.ParseSemaphores(entries[m.Index].Sema)
	if err != nil {
		return err
	}
	t := c.task.Claim(m.Index, claims)
	c.turns[m.Index] = t
	c.session.waits.note(1, 0)
	ask := c.asking(ctx, t, m)
	c.turning.Go(func() {
		if c.await(t, m.Index, ask) {
			c.session.waits.note(-1, 1)
			c.until(t)
			c.session.waits.note(0, -1)
			return
		}
		c.session.waits.note(-1, 0)
	})
	return nil
}

// await waits until an entry has its turn, and answers the host. It reports whether the host may know by then that it
// holds the semaphores. A turn that the host does not know of is released with the catalog.
func (c *catalogRun) await(t *share.Turn, index int, ask func() bool) bool {
	select {
	case <-t.Granted():
	case <-t.Released():
		return false
	case <-c.ended:
		t.Release()
		return false
	}
	granted := &wire.Granted{Index: index}
	if err := t.Err(); err != nil {
		granted.Error = withHint(err)
	} else {
		if !ask() {
			c.until(t)
			t.Release()
			return false
		}
		if c.task.Granted != nil {
			c.task.Granted(index)
		}
	}
	select {
	case c.session.outgoing <- func() error { return c.session.conn.Send(&wire.Message{Granted: granted}) }:
		return granted.Error == ""
	case <-t.Released():
	case <-c.ended:
		t.Release()
	}
	return false
}

// until waits until a turn is released, or the catalog has ended.
func (c *catalogRun) until(t *share.Turn) {
	select {
	case <-t.Released():
	case <-c.ended:
	}
}

// hasFailed reports whether a turn will never be granted.
func hasFailed(t *share.Turn) bool {
	select {
	case <-t.Granted():
		return t.Err() != nil
	default:
		return false
	}
}

// withHint is the text of an error, and its hint on the next line.
func withHint(err error) string {
	if may, ok := errors.AsType[*share.MayHoldError](err); ok {
		return may.Error() + "\n  hint: " + may.Hint()
	}
	return err.Error()
}

// asking returns the function that prompts the operator about an entry, once it has its turn. Messages that have
// arrived from the host are handled first.
func (c *catalogRun) asking(ctx context.Context, t *share.Turn, m *wire.Semaphore) func() bool {
	if c.task.Ask == nil {
		return func() bool { return true }
	}
	c.task.Flush()
	entry, would := &c.catalog.Entries[m.Index], excerpt.Of(m.Would, maxWould)
	return func() bool {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		c.session.work.Go(func() {
			select {
			case <-t.Released():
				cancel()
			case <-c.ended:
				cancel()
			case <-ctx.Done():
			}
		})
		return c.task.Ask(ctx, entry, would)
	}
}

// maxWould bounds a host's text about an entry's intended change, in bytes.
const maxWould = 4 << 10

// answer sends the message that the host waits for, unless gone is closed before.
func (s *Session) answer(m *wire.Message, gone <-chan struct{}) {
	select {
	case s.outgoing <- func() error { return s.conn.Send(m) }:
	case <-gone:
	case <-s.over:
	}
}

// release ends the turn of an entry, if it has one.
func (c *catalogRun) release(index int) {
	if t := c.turns[index]; t != nil {
		delete(c.turns, index)
		t.Release()
	}
}

// endTurns ends the turns of a catalog. If the host has ended the catalog, all are released. Otherwise the host may
// still run its entries: turns that it knows of are left to their claimer.
func (c *catalogRun) endTurns() {
	if c.over {
		for _, t := range c.turns {
			t.Release()
		}
	}
	close(c.ended)
	c.turning.Wait()
}

// need finds what an entry receives from other hosts. The answer comes when they
// have sent it, or when it is known that they never will.
func (c *catalogRun) need(ctx context.Context, m *wire.Import) error {
	switch {
	case m.Index < 0 || m.Index >= len(c.reported) || len(c.task.Compiled.Imports[m.Index]) == 0 || c.task.Exchange == nil:
		return breach("the host requests values of resource %d, which receives none from other hosts", m.Index)
	case c.reported[m.Index]:
		return breach("the host requests values of resource %d, which it has reported", m.Index)
	case c.needs[m.Index]:
		return breach("the host requests the values of resource %d twice", m.Index)
	}
	c.needs[m.Index] = true
	participant := c.task.Exchange
	c.later(ctx, func(ctx context.Context) *wire.Message {
		return &wire.Message{Imported: participant.Import(ctx, m.Index)}
	})
	return nil
}

// later answers the host once f has found the answer, which takes as long as other hosts do. The
// context of f ends with the catalog.
func (c *catalogRun) later(ctx context.Context, f func(context.Context) *wire.Message) {
	c.session.waits.note(1, 0)
	ctx, cancel := context.WithCancel(ctx)
	ended := c.ended
	c.session.work.Go(func() {
		defer cancel()
		m := f(ctx)
		c.session.waits.note(-1, 0)
		c.session.answer(m, ended)
	})
	c.session.work.Go(func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	})
}

// elsewhere runs an entry on another host. The host learns only the outcome, not the observations or changes on the
// other host.
func (c *catalogRun) elsewhere(ctx context.Context, m *wire.Elsewhere) error {
	entries := c.catalog.Entries
	switch {
	case m.Index < 0 || m.Index >= len(entries) || entries[m.Index].On == "" && !entries[m.Index].Once || c.task.Elsewhere == nil:
		return breach("the host requests that resource %d run on another host, but it runs only here", m.Index)
	case c.reported[m.Index]:
		return breach("the host requests that resource %d run on another host, but it has reported it", m.Index)
	case c.needs[m.Index]:
		return breach("the host requests twice that resource %d run on another host", m.Index)
	case m.Refresh && len(entries[m.Index].Subscribe) == 0:
		return breach("the host requests a refresh of resource %d, which subscribes to nothing", m.Index)
	}
	c.needs[m.Index] = true
	c.later(ctx, func(ctx context.Context) *wire.Message {
		r, here := c.task.Elsewhere(ctx, m.Index, m.Refresh)
		answer := &wire.Elsewhere{Index: m.Index, Here: here}
		if r != nil {
			answer.Status, answer.Grade, answer.Because = cmp.Or(r.Status, wire.Stable), r.Grade, r.Because
			if r.Status == wire.Failed {
				answer.Error = "it failed on " + cmp.Or(entries[m.Index].On, "another host")
			}
		}
		return &wire.Message{Elsewhere: answer}
	})
	return nil
}

// receivedSensitive reports whether an entry has received a sensitive value: then it is sensitive itself, and so are
// its exports.
func (c *catalogRun) receivedSensitive(index int) bool {
	entries := c.catalog.Entries
	return c.task.Exchange != nil && c.task.Exchange.ImportedSensitive(index) ||
		slices.ContainsFunc(entries[index].Receive, func(from wire.Receive) bool { return from.From >= 0 && entries[from.From].Sensitive })
}

// sent moves what an entry exports from its result to the exchange.
func (c *catalogRun) sent(r *wire.Result) error {
	entry := &c.catalog.Entries[r.Index]
	for key := range r.Sent {
		if !slices.Contains(entry.Export, key) {
			return breach("the host sends the value %.64q of resource %d, which does not export it", key, r.Index)
		}
	}
	entry.Sensitive = entry.Sensitive || c.receivedSensitive(r.Index)
	if c.task.Exchange != nil {
		c.task.Exchange.Export(r, c.catalog)
	}
	r.Sent = nil
	return nil
}

// waits measures how long one host waits for others, during one catalog. While it waits and holds no semaphore itself,
// its clock is paused: another host, with its own limit, takes the time then. A host that holds a semaphore has all its
// time counted, or it could keep others waiting without a limit.
type waits struct {
	mu    sync.Mutex
	asked int       // questions without an answer
	held  int       // turns that it has
	since time.Time // start of the pause; zero while the clock runs
	total time.Duration
	woke  time.Time // end of the last pause
}

// note adds to the numbers of pending requests and of held semaphores.
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

// Waits reports whether the host waits for others.
func (s *Session) Waits() bool {
	s.waits.mu.Lock()
	defer s.waits.mu.Unlock()
	return s.waits.asked > 0
}

// Waited returns how long the host has waited for others so far.
func (s *Session) Waited() time.Duration {
	total, _, _ := s.waits.idle()
	return total
}

// idle returns the total pause so far, whether the clock is paused now, and when the last pause ended.
func (w *waits) idle() (total time.Duration, now bool, woke time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	total = w.total
	if now = !w.since.IsZero(); now {
		total += time.Since(w.since)
	}
	return total, now, w.woke
}
