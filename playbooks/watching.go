package playbooks

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// Watch is what the command line says of hosts that are watched behind the plays.
type Watch struct {
	Rules  *watch.Rules // of plays that say nothing; nil are [watch.Defaults]
	Repair bool         // what plays that say nothing have is mended
}

// A watching keeps the hosts of a run under watch. Each of them has a goroutine, which has its sessions;
// what is told and done is decided by one, that of [fleet.watch], which alone asks the judge.
type watching struct {
	fleet  *fleet
	rules  watch.Rules // of plays that say nothing
	judge  *watch.Judge
	hosts  []*watchedHost
	byName map[string]*watchedHost
	says   chan func()   // what hosts have to say: the one that decides calls it
	places chan struct{} // of hosts that are dialled and checked
}

// watch watches the hosts of plays until the run is stopped.
func (f *fleet) watch(ctx context.Context, plays []*selection) {
	ctx, end := f.untilStopped(ctx)
	defer end()
	w := &watching{fleet: f, rules: watch.Defaults(), byName: map[string]*watchedHost{}, says: make(chan func()), places: make(chan struct{}, f.runner.forks())}
	if given := f.runner.Options.Watch.Rules; given != nil {
		w.rules = *given
	}
	if f.runner.Options.Watch.Repair {
		w.rules.Mode = watch.Repair
	}
	if f.runner.Options.Check {
		w.rules.Mode = watch.Report
	}
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
	w.decide(ended)
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

// decide takes in what hosts say, and has them mended, until all of them have ended.
func (w *watching) decide(ended <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Stop()
		if next := w.order(); !next.IsZero() {
			timer.Reset(max(0, next.Sub(w.fleet.runner.Now())))
		}
		select {
		case say := <-w.says:
			say()
		case <-timer.C:
		case <-ended:
			return
		}
	}
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
	h.announced, h.lost = true, time.Time{}
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

// totals are what hosts have come to at the end; nil if they were not watched.
func (w *watching) totals() *events.WatchTotals {
	if w == nil {
		return nil
	}
	t := &events.WatchTotals{Hosts: len(w.hosts)}
	astray, fighting := w.judge.Astray()
	t.Drifted, t.Fighting = len(astray), len(fighting)
	for _, h := range w.hosts {
		if !h.announced {
			t.Unwatched++
		}
	}
	return t
}
