package playbooks

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// A watchedHost is a host under watch. Its sessions are those of its goroutine, [watchedHost.run].
type watchedHost struct {
	of    *watching
	state *hostState
	plays []*watchedPlay

	orders  chan order // holds one
	repairs int        // so many have begun

	// Of the one that decides:
	mending   bool      // an order is not carried out yet
	announced bool      // it is told to be watched
	lost      time.Time // since when it is told not to be; zero if it is not told
	phase     string    // why, in a word
	since     time.Time // it is not watched, if it is not announced
}

// A watchedPlay is a play on a host under watch. All but the selection is of the one that decides.
type watchedPlay struct {
	*selection
	entries   []watchedEntry
	unsettled []string // what never is as it shall be
	polled    int      // so many entries are only checked every now and then
	heard     bool     // that is known
}

// play is one of the host, by its number from 1.
func (h *watchedHost) play(number int) *watchedPlay {
	return h.plays[slices.IndexFunc(h.plays, func(p *watchedPlay) bool { return p.number == number-1 })]
}

// entry is a resource of the play.
func (p *watchedPlay) entry(ref string) *watchedEntry {
	return &p.entries[slices.IndexFunc(p.entries, func(e watchedEntry) bool { return e.ref == ref })]
}

// Times between the attempts to watch a host again: any time up to firstWatch, then up to twice that, and
// so on, so that the hosts of a rack do not all come at once.
const (
	firstWatch   = time.Second
	longestWatch = time.Minute
)

// run watches the host until ctx ends, again and again.
func (h *watchedHost) run(ctx context.Context) {
	defer h.state.close()
	for longest := firstWatch; ctx.Err() == nil; longest = min(2*longest, longestWatch) {
		stood, err := h.watch(ctx)
		h.state.close()
		if ctx.Err() != nil {
			return
		}
		if stood {
			longest = firstWatch
		}
		wait := rand.N(longest)
		h.of.say(ctx, func() { h.of.lose(h, err, wait) })
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// watch has the host watched until that ends. stood says that it was.
func (h *watchedHost) watch(ctx context.Context) (stood bool, err error) {
	if err := h.standAll(ctx); err != nil {
		return false, err
	}
	for {
		o, err := h.hear(ctx)
		if err == nil && o != nil {
			err = h.obey(ctx, o)
		}
		if err != nil || ctx.Err() != nil {
			return true, err
		}
	}
}

// enter waits for a place to work at this host, and leave gives it back.
func (h *watchedHost) enter(ctx context.Context) error {
	select {
	case h.of.places <- struct{}{}:
		h.state.activity.Work()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *watchedHost) leave() {
	<-h.of.places
	h.state.activity.Rest()
}

// standAll sends all plays to be watched, when there is a place for that.
func (h *watchedHost) standAll(ctx context.Context) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.leave()
	h.state.plays = nil
	for _, p := range h.plays {
		h.state.plays = append(h.state.plays, p.selection)
	}
	for _, p := range h.plays {
		if err := h.beside(ctx, p, func() error { return h.stand(ctx, p) }); err != nil {
			return err
		}
	}
	return nil
}

// user is the one whom the host program runs as in a play.
func (h *watchedHost) user(p *watchedPlay) string {
	_, user := h.of.fleet.playOn(p.selection, h.state).runsAs()
	return user
}

// end ends the host program that watches a play, so that it holds no lock and another one can begin.
func (h *watchedHost) end(ctx context.Context, p *watchedPlay) error {
	user := h.user(p)
	one := h.state.programs[user]
	if one == nil {
		return nil
	}
	delete(h.state.programs, user)
	if err := one.session.Finish(ctx); err != nil {
		return &phaseError{phase: phaseOf(err), err: err}
	}
	return nil
}

// stand sends a play to be watched, in the place of what was sent of it before.
func (h *watchedHost) stand(ctx context.Context, p *watchedPlay) error {
	var entries []watchedEntry
	results := map[int]*wire.Result{}
	s := p.looking(false, func(_ string, _ *wire.Catalog, r *wire.Result) {
		if r.Status != wire.Stable && r.Status != wire.Skipped {
			results[r.Index] = r
		}
	})
	s.look.sent = func(c *catalog.Compiled) { entries = h.of.entriesOf(c) }
	s.look.told = func(m *wire.Watched) { h.of.say(ctx, func() { h.of.told(h, p, m) }) }
	if err := h.of.fleet.playOn(s, h.state).run(ctx); err != nil {
		return err
	}
	h.state.steps = nil // they are of no run
	h.of.say(ctx, func() { h.of.stood(h, p, entries, results) })
	return nil
}

// hear listens to all host programs until there is an order or ctx ends, or one of them does: its error.
func (h *watchedHost) hear(ctx context.Context) (o order, err error) {
	ended, end := h.listen(ctx, nil)
	select {
	case o = <-h.orders:
	case <-ended:
	case <-ctx.Done():
	}
	return o, end()
}

// beside does something about a play while the host programs of other users are heard; of no play, while
// all are.
func (h *watchedHost) beside(ctx context.Context, p *watchedPlay, do func() error) error {
	_, end := h.listen(ctx, p)
	err := do()
	return errors.Join(err, end())
}

// listen hears all host programs but that of a play, nil is none, until end is called, which gives the
// first error. ended is closed when one of them has ended.
func (h *watchedHost) listen(ctx context.Context, but *watchedPlay) (ended <-chan struct{}, end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var hearing sync.WaitGroup
	var once sync.Once
	var first error
	over := make(chan struct{})
	for user, one := range h.state.programs {
		if but != nil && user == h.user(but) {
			continue
		}
		hearing.Go(func() {
			if err := one.session.Hear(ctx); err != nil {
				once.Do(func() {
					first = &phaseError{phase: phaseOf(err), err: err}
					close(over)
				})
			}
		})
	}
	return over, func() error {
		cancel()
		hearing.Wait()
		return first
	}
}

// leaveOutOthers leaves out of a catalog what needs other hosts, since nobody brings them together while
// they are watched.
func leaveOutOthers(c *catalog.Compiled) {
	for i := range c.Catalog.Entries {
		e := &c.Catalog.Entries[i]
		if e.On == "" && !e.Once && len(c.Imports[i]) == 0 {
			continue
		}
		leaveOut(e)
	}
}

// leaveOut leaves an entry out of its catalog, as control does.
func leaveOut(e *wire.Entry) {
	*e = wire.Entry{
		Type: e.Type, Name: e.Name, Alias: e.Alias, Require: e.Require, Subscribe: e.Subscribe, After: e.After,
		Sensitive: e.Sensitive, Scope: e.Scope, Excluded: true,
	}
}

// lose tells that a host is not watched for now, and why. It is told once, and again when there is
// another reason.
func (w *watching) lose(h *watchedHost, err error, wait time.Duration) {
	r := w.fleet.runner
	now := r.Now()
	w.last = now
	if h.announced {
		h.announced, h.since = false, now
	}
	w.judge.Lost(h.state.host.Name)
	select {
	case o := <-h.orders: // that it has not got to
		failed := map[watch.Key]string{}
		for _, one := range o {
			for _, k := range one.keys {
				failed[k] = reason(failure("", k.Host, err))
			}
		}
		w.mended(h, o, failed)
	default:
	}
	for _, p := range h.plays {
		p.heard = false
	}
	play := h.plays[0].play.Name
	failed := failure(play, h.state.host.Name, err)
	if !h.state.done { // the run has not got to it, and does not
		r.Events.Report(failed)
		w.done(h)
	}
	phase, text, hint := "unreachable", reason(failed), ""
	switch e := failed.(type) {
	case events.Unreachable:
		hint = e.Hint
	case events.HostFailed:
		phase, hint = e.Phase, e.Hint
	}
	if !h.lost.IsZero() && h.phase == phase {
		return
	}
	h.lost, h.phase = h.since, phase
	r.Events.Report(events.Unwatched{Host: h.state.host.Name, Since: h.since, Error: text, Hint: hint, Next: now.Add(wait)})
}
