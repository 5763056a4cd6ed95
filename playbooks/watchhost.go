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
	"github.com/ccm-push/ccm-push/transport"
)

// A watcher watches one host, of whose sessions nobody else knows. It tells what becomes of the host, and carries out
// what is ordered.
type watcher struct {
	*fleet
	state  *hostState
	plays  []*selection
	orders <-chan WatchOrder
	// tell returns when what it is given was taken in, or nobody wants to know it any more.
	tell func(ctx context.Context, n WatchNews)
}

// Times between the attempts to watch a host again: any time up to firstWatch, then up to twice that, and
// so on, so that the hosts of a rack do not all come at once.
const (
	firstWatch   = time.Second
	longestWatch = time.Minute
)

// watchAgain has a host watched until ctx ends: again after a wait, which may be longer each time until the host was watched. watch
// returns once the host is not, and why; stood says that it was. tell hears of that before the wait.
func watchAgain(ctx context.Context, of *selection, state *hostState, tell func(context.Context, WatchNews), watch func() (stood bool, err error)) {
	for longest := firstWatch; ctx.Err() == nil; longest = min(2*longest, longestWatch) {
		stood, err := watch()
		if ctx.Err() != nil {
			return
		}
		if stood {
			longest = firstWatch
		}
		wait := rand.N(longest)
		lost := WatchLost{Failure: events.Carried{Event: failure(of.play.Name, state.host.Name, err)}, Wait: wait, Refused: errors.Is(err, transport.ErrAuth)}
		tell(ctx, WatchNews{Lost: &lost})
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// run watches the host until the end of until. That of ctx, which is later, ends by force what is running then.
func (h *watcher) run(ctx, until context.Context) {
	defer h.state.close()
	watchAgain(until, h.plays[0], h.state, h.tell, func() (stood bool, err error) {
		defer h.state.close()
		return h.watch(ctx, until)
	})
}

// watch has the host watched until that ends. stood says that it was.
func (h *watcher) watch(ctx, until context.Context) (stood bool, err error) {
	if err := h.standAll(until); err != nil {
		return false, err
	}
	for {
		o, err := h.hear(until)
		if err == nil && o != nil {
			err = h.obey(ctx, until, o)
		}
		if err != nil || until.Err() != nil {
			return true, err
		}
	}
}

// enter waits for a place to work at this host, and leave gives it back.
func (h *watcher) enter(ctx context.Context) error {
	select {
	case h.places <- struct{}{}:
		h.state.activity.Work()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *watcher) leave() {
	<-h.places
	h.state.activity.Rest()
}

// standAll sends all plays to be watched, when there is a place for that.
func (h *watcher) standAll(ctx context.Context) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.leave()
	h.state.plays = slices.Clone(h.plays)
	for _, p := range h.plays {
		if err := h.beside(ctx, p, func() error { return h.stand(ctx, p) }); err != nil {
			return err
		}
	}
	return nil
}

// user is the one whom the host program runs as in a play.
func (h *watcher) user(p *selection) string {
	_, user := h.playOn(p.whole(), h.state).runsAs()
	return user
}

// end ends the host program that watches a play, so that it holds no lock and another one can begin.
func (h *watcher) end(ctx context.Context, p *selection) error {
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
func (h *watcher) stand(ctx context.Context, p *selection) error {
	var entries []watchedEntry
	var results []*wire.Result
	s := p.whole()
	s.heard = func(_ string, _ *wire.Catalog, r *wire.Result) {
		if r.Status != wire.Stable && r.Status != wire.Skipped {
			results = append(results, r)
		}
	}
	s.mode = &standing{
		sent: func(c *catalog.Compiled) { entries = h.runner.watchedEntries(c) },
		told: func(m *wire.Watched) { h.tell(ctx, WatchNews{Play: p.number + 1, Told: toldBy(m, entries)}) },
	}
	if err := h.playOn(s, h.state).run(ctx); err != nil {
		return err
	}
	h.state.times.steps = nil // they are of no run
	h.tell(ctx, WatchNews{Play: p.number + 1, Stood: stoodWith(entries, results)})
	return nil
}

// hear listens to all host programs until there is an order or ctx ends, or one of them does: its error.
func (h *watcher) hear(ctx context.Context) (o *WatchOrder, err error) {
	ended, end := h.listen(ctx, nil)
	select {
	case one := <-h.orders:
		o = &one
	case <-ended:
	case <-ctx.Done():
	}
	return o, end()
}

// beside does something about a play while the host programs of other users are heard; of no play, while
// all are.
func (h *watcher) beside(ctx context.Context, p *selection, do func() error) error {
	_, end := h.listen(ctx, p)
	err := do()
	return errors.Join(err, end())
}

// listen hears all host programs but that of a play, nil is none, until end is called, which gives the
// first error. ended is closed when one of them has ended.
func (h *watcher) listen(ctx context.Context, but *selection) (ended <-chan struct{}, end func() error) {
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
