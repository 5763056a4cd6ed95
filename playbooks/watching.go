package playbooks

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/activity"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// Watch is what the command line says of hosts that are watched behind the plays.
type Watch struct {
	Repair bool // what plays that say nothing have is mended
	Once   bool // it ends when each host has been checked, or could not be
	// Converged is for how long nothing may change until it ends; 0 is for ever.
	Converged time.Duration
	FailOn    []FailOn // what is a failure if it is so at the end
	// Until ends watching when it is closed, and the repairs that are under way by then: the plays are
	// followed by others. nil never does.
	Until <-chan struct{}
	// Only has the plays not carried out again: their hosts are watched, and mended, at once.
	Only bool
}

// A FailOn is what watched hosts may have come to.
type FailOn string

// What there is.
const (
	FailOnUnwatched FailOn = "unwatched" // a host is not watched
	FailOnDrift     FailOn = "drift"     // a resource is not as it shall be
	FailOnFighting  FailOn = "fighting"  // one is left alone, since somebody else wants it otherwise
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

// A watching keeps the hosts of a run under watch. Each of them has a goroutine, which has its sessions;
// what is told and done is decided by one, that of [fleet.watch], which alone asks the judge.
type watching struct {
	fleet  *fleet
	judge  *watch.Judge
	hosts  []*watchedHost
	byName map[string]*watchedHost
	says   chan func()   // what hosts have to say: the one that decides calls it
	last   time.Time     // something has changed
	busy   time.Time     // a play was sent to be watched; zero if memory was given back since
	places chan struct{} // of hosts that are dialled and checked
	over   bool          // it ends when nothing is being mended any more
}

// watch watches the hosts of plays until the run is stopped.
func (f *fleet) watch(ctx context.Context, plays []*selection) {
	ctx, end := f.untilStopped(ctx)
	defer end()
	w := &watching{fleet: f, byName: map[string]*watchedHost{}, says: make(chan func()), places: make(chan struct{}, f.runner.forks())}
	for _, h := range f.runner.Inventory.Hosts() {
		if state := f.states[h.Name]; state != nil {
			one := w.host(state, plays)
			w.hosts, w.byName[h.Name] = append(w.hosts, one), one
		}
	}
	w.judge = watch.NewJudge(len(w.hosts))
	f.watching = w
	f.runner.Events.Report(events.WatchStart{Hosts: len(w.hosts)})
	var working sync.WaitGroup
	for _, h := range w.hosts {
		working.Go(func() { h.run(ctx) })
	}
	ended := make(chan struct{})
	go func() {
		working.Wait()
		close(ended)
	}()
	w.decide(ended, end)
}

// host is a host that is to be watched.
func (w *watching) host(state *hostState, plays []*selection) *watchedHost {
	h := &watchedHost{of: w, state: state, orders: make(chan order, 1), since: w.fleet.runner.Now()}
	state.watched, state.plays, state.steps = true, nil, nil
	for _, s := range plays {
		if slices.ContainsFunc(s.hosts, func(one *inventory.Host) bool { return one.Name == state.host.Name }) {
			state.plays = append(state.plays, s)
			h.plays = append(h.plays, &watchedPlay{selection: s})
		}
	}
	return h
}

// decide takes in what hosts say, and has them mended, until all of them have ended. end ends them.
func (w *watching) decide(ended <-chan struct{}, end func()) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	w.last = w.fleet.runner.Now()
	until := w.fleet.runner.Options.Watch.Until
	for {
		timer.Stop()
		var next time.Time
		if !w.over {
			next = w.order()
		}
		converged := w.converges()
		if !converged.IsZero() && (next.IsZero() || converged.Before(next)) {
			next = converged
		}
		now := w.fleet.runner.Now()
		if rest := w.giveBack(now); !rest.IsZero() && (next.IsZero() || rest.Before(next)) {
			next = rest
		}
		w.show()
		if !converged.IsZero() && !now.Before(converged) {
			end()
			next = time.Time{}
		}
		if !next.IsZero() {
			timer.Reset(max(0, next.Sub(now)))
		}
		select {
		case say := <-w.says:
			say()
			w.sayAll()
		case request := <-w.fleet.runner.Steer:
			w.answer(request)
		case <-until:
			until, w.over = nil, true
		case <-timer.C:
		case <-ended:
			return
		}
	}
}

// restTime is how long hosts have only been listened to when memory is given back.
const restTime = 5 * time.Second

// giveBack gives memory back that hosts needed until they were watched and do not any more, once no play has
// been sent for a while. It says when that is; zero is that there is none.
func (w *watching) giveBack(now time.Time) (at time.Time) {
	if w.busy.IsZero() {
		return time.Time{}
	}
	if at = w.busy.Add(restTime); now.Before(at) {
		return at
	}
	w.busy = time.Time{}
	debug.FreeOSMemory()
	return time.Time{}
}

// sayAll takes in what else hosts have to say by now, but not for ever.
func (w *watching) sayAll() {
	for range w.hosts {
		select {
		case say := <-w.says:
			say()
		default:
			return
		}
	}
}

// converges is when watching ends if nothing changes until then; zero is never.
func (w *watching) converges() time.Time {
	o := w.fleet.runner.Options.Watch
	if !w.over && !o.Once && o.Converged == 0 {
		return time.Time{}
	}
	for _, h := range w.hosts {
		known := h.announced || o.Once && !h.lost.IsZero()
		if !known && !w.over || h.mending {
			return time.Time{}
		}
	}
	if o.Once || w.over {
		return w.last
	}
	return w.last.Add(o.Converged)
}

// say has something done by the one that decides, unless ctx has ended.
func (w *watching) say(ctx context.Context, what func()) {
	select {
	case w.says <- what:
	case <-ctx.Done():
	}
}

// stood takes in what all resources of a play came to when it was sent to be watched.
func (w *watching) stood(h *watchedHost, p *watchedPlay, entries []watchedEntry, results map[int]*wire.Result) {
	p.entries, p.polled, p.heard, p.unsettled = entries, 0, false, nil
	w.busy = w.fleet.runner.Now()
	refs := make(map[string]bool, len(entries))
	for i := range entries {
		refs[entries[i].ref] = true
	}
	w.judge.Keep(h.state.host.Name, p.number+1, refs)
	for i := range entries {
		r := results[i]
		if r == nil {
			r = &wire.Result{Index: i}
		}
		v := p.verdict(r, nil)
		drifted := w.hear(h, p, &entries[i], v, true)
		if !drifted && v.Status == watch.Changed && v.Cause == watch.Wish {
			p.unsettled = append(p.unsettled, entries[i].shown())
		}
	}
}

// told takes in what has become of resources.
func (w *watching) told(h *watchedHost, p *watchedPlay, m *wire.Watched) {
	for _, r := range m.Results {
		var writer *wire.Writer
		if i := slices.IndexFunc(m.Writers, func(one wire.Writer) bool { return one.Index == r.Index }); i >= 0 {
			writer = &m.Writers[i]
		}
		w.hear(h, p, &p.entries[r.Index], p.verdict(r, writer), false)
	}
	if m.Heard {
		p.polled, p.heard = 0, true
	}
	p.polled += len(m.Polled)
	w.announce(h)
}

// hear has the judge hear of a resource, and reports whether it has drifted.
func (w *watching) hear(h *watchedHost, p *watchedPlay, e *watchedEntry, v watch.Verdict, first bool) (drifted bool) {
	key := watch.Key{Host: h.state.host.Name, Play: p.number + 1, Ref: e.ref}
	for _, o := range w.judge.Told(w.fleet.runner.Now(), key, e.rules, v, first) {
		drifted = drifted || o.Kind == watch.Drifted
		w.tell(p, e, o)
	}
	return drifted
}

// announce tells that a host is watched, once it is known what it hears nothing of.
func (w *watching) announce(h *watchedHost) {
	if h.announced || slices.ContainsFunc(h.plays, func(p *watchedPlay) bool { return !p.heard }) {
		return
	}
	h.announced, h.lost, w.last = true, time.Time{}, w.fleet.runner.Now()
	w.judge.Found(h.state.host.Name)
	w.done(h)
	e := events.Watched{Host: h.state.host.Name}
	for _, p := range h.plays {
		for i := range p.entries {
			if p.entries[i].counts {
				e.Resources++
			}
		}
		e.Polled += p.polled
		e.Unsettled = append(e.Unsettled, p.unsettled...)
	}
	w.fleet.runner.Events.Report(e)
}

// done tells that a host is done with the run, if that was not told: no play was carried out.
func (w *watching) done(h *watchedHost) {
	if h.state.done {
		return
	}
	h.state.begun, h.state.done = true, true
	w.fleet.runner.Events.Report(w.fleet.runner.Tally.HostDone(h.state.host.Name, 0, events.Phases{}))
}

// show shows those who look on what hosts are at.
func (w *watching) show() {
	t := w.totals()
	w.fleet.runner.Activity.Watching(activity.Watch{Watched: t.Hosts - t.Unwatched, Unwatched: t.Unwatched, Drifted: t.Drifted, Fighting: t.Fighting})
}

// totals are what hosts have come to at the end; nil if they were not watched.
func (w *watching) totals() *events.WatchTotals {
	if w == nil {
		return nil
	}
	o := w.fleet.runner.Options.Watch
	t := &events.WatchTotals{Hosts: len(w.hosts)}
	astray, fighting := w.judge.Astray()
	t.Drifted, t.Fighting = len(astray), len(fighting)
	for _, h := range w.hosts {
		if !h.announced {
			t.Unwatched++
		}
	}
	for _, on := range o.FailOn {
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
