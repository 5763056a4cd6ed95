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
	"github.com/ccm-push/ccm-push/playbooks/watch/watching"
	"github.com/ccm-push/ccm-push/transport"
)

// Watch has the command line options for watching hosts after the plays.
type Watch struct {
	Repair bool // repairs drift of plays without a mode
	Once   bool // it ends when each host has been checked, or could not be
	// Converged is for how long nothing may change until it ends; 0 is for ever.
	Converged time.Duration
	FailOn    []FailOn // states that count as failures at the end
	// Until ends the watch when it is closed, and also repairs in progress, because other plays follow. A nil channel
	// never ends the watch.
	Until <-chan struct{} `json:"-"`
	// Only skips the plays: their hosts are watched, and repaired, at once.
	Only bool
}

// A FailOn is a state of watched hosts that can count as a failure.
type FailOn string

// The values of FailOn.
const (
	FailOnUnwatched FailOn = "unwatched" // a host is not watched
	FailOnDrift     FailOn = "drift"     // a resource has drifted
	FailOnFighting  FailOn = "fighting"  // a resource is not repaired, because another program changes it back
)

// defaults are the rules of plays that say nothing; nil are [watch.Defaults].
func (w *Watch) defaults() *watch.Rules {
	if w == nil || !w.Repair {
		return nil
	}
	rules := watch.Defaults()
	rules.Mode = watch.Repair
	return &rules
}

// failures adds to the totals of a watch what FailOn counts as a failure. Totals may be nil.
func (w *Watch) failures(t *events.WatchTotals) *events.WatchTotals {
	if t == nil {
		return nil
	}
	for _, on := range w.FailOn {
		switch {
		case on == FailOnUnwatched && t.Unwatched > 0:
			t.Failed |= events.ExitUnreachable
		case on == FailOnDrift && t.Drifted > 0:
			t.Failed |= events.ExitChanged
		case on == FailOnFighting && t.Fighting > 0:
			t.Failed |= events.ExitFailed
		}
	}
	return t
}

// News of watched hosts and orders to them, which workers send.
type (
	WatchNews   = watching.News
	WatchLost   = watching.Lost
	WatchOrder  = watching.Order
	WatchRepair = watching.Repair
)

// watch watches the hosts of the plays until the run is stopped.
func (f *fleet) watch(ctx context.Context) {
	r := f.runner
	o := r.Options.Watch
	f.watching = &watching.Watching{
		Hosts: watchedHosts{f}, Events: r.Events, Now: r.Now, Activity: r.Activity, Steer: r.Steer,
		Options: watching.Options{Run: r.Options.Run, Once: o.Once, Converged: o.Converged, Until: o.Until},
	}
	var hosts []watching.Host
	for _, h := range r.Inventory.Hosts() {
		state := f.states[h.Name]
		if state == nil {
			continue
		}
		one := watching.Host{Name: h.Name, Done: state.phase().over()}
		state.plays, state.times.steps = nil, nil
		for _, s := range f.plays {
			if s.has(h.Name) {
				state.plays = append(state.plays, s)
				one.Plays = append(one.Plays, watching.Play{Number: s.number + 1, Name: s.play.Name})
			}
		}
		hosts = append(hosts, one)
	}
	until, end := f.untilStopped(ctx)
	defer end()
	f.watching.Begin(hosts)
	f.watching.Run(ctx, until, end)
}

// watchedHosts are the hosts of a fleet for [watching.Watching].
type watchedHosts struct{ fleet *fleet }

// Watch implements [watching.Hosts].
func (w watchedHosts) Watch(ctx, until context.Context, host string, orders <-chan WatchOrder, tell watching.Tell) {
	f, state := w.fleet, w.fleet.states[host]
	if p := f.playOn(state.plays[0].whole(), state); p.goesAway() {
		p.watchedAway(ctx, until, orders, tell)
		return
	}
	one := &watcher{fleet: f, state: state, plays: slices.Clone(state.plays), orders: orders, tell: tell}
	one.run(ctx, until)
}

// Done implements [watching.Hosts]. No play was carried out on the host.
func (w watchedHosts) Done(host string) {
	state := w.fleet.states[host]
	state.end()
	w.fleet.runner.Events.Report(w.fleet.runner.Tally.HostDone(host, 0, events.Phases{}, state.ends...))
}

// A watcher watches one host, and is the only user of its sessions. It reports the state of the host, and carries out
// orders.
type watcher struct {
	*fleet
	state  *hostState
	plays  []*selection
	orders <-chan WatchOrder
	tell   watching.Tell
}

// Times between the attempts to watch a host again: any time up to firstWatch, then up to twice that, and
// so on, so that the hosts of a rack do not all come at once.
const (
	firstWatch   = time.Second
	longestWatch = time.Minute
)

// watchAgain watches a host until ctx ends. After a loss it waits before it tries again. The wait grows with each try,
// and is reset once the host was watched. watch returns when the watch has ended, with the reason; stood reports that
// the host was watched. tell is called before the wait.
func watchAgain(ctx context.Context, of *selection, state *hostState, tell watching.Tell, watch func() (stood bool, err error)) {
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

// run watches the host until the end of until. The end of ctx, which is later, kills commands in progress.
func (h *watcher) run(ctx, until context.Context) {
	defer h.state.close()
	watchAgain(until, h.plays[0], h.state, h.tell, func() (stood bool, err error) {
		defer h.state.close()
		return h.watch(ctx, until)
	})
}

// watch watches the host until the watch ends. stood reports that the host was watched.
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

// enter waits for a slot for work on this host; leave returns the slot.
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

// user returns the user of the host program in a play.
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

// stand sends a play to the host, which watches it in place of the play sent before.
func (h *watcher) stand(ctx context.Context, p *selection) error {
	var entries []watching.Entry
	var results []*wire.Result
	s := p.whole()
	s.heard = func(_ string, _ *wire.Catalog, r *wire.Result) {
		if r.Status != wire.Stable && r.Status != wire.Skipped {
			results = append(results, r)
		}
	}
	s.mode = &standing{
		sent: func(c *catalog.Compiled) { entries = watching.Entries(c, h.runner.Options.Check) },
		told: func(m *wire.Watched) { h.tell(ctx, WatchNews{Play: p.number + 1, Told: watching.ToldBy(m, entries)}) },
	}
	if err := h.playOn(s, h.state).run(ctx); err != nil {
		return err
	}
	h.state.times.steps = nil // they are of no run
	h.tell(ctx, WatchNews{Play: p.number + 1, Stood: watching.StoodWith(entries, results)})
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

// beside calls do for a play while it listens to the host programs of other users. If p is nil, it listens to all.
func (h *watcher) beside(ctx context.Context, p *selection, do func() error) error {
	_, end := h.listen(ctx, p)
	err := do()
	return errors.Join(err, end())
}

// listen listens to all host programs except the one of a play (nil excludes none) until end is called. end returns the
// first error. ended is closed when a host program has ended.
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

// leaveOutOthers removes the resources that need other hosts from a catalog, because a watch does not connect hosts.
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
