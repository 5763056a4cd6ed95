package playbooks

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

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
	Until <-chan struct{} `json:"-"`
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

// A watching keeps the hosts of a run under watch. Each of them has a [watcher], here or at a worker, which has its
// sessions; what is told and done is decided by one goroutine, that of [fleet.watch], which alone asks the judge.
type watching struct {
	fleet  *fleet
	judge  *watch.Judge
	hosts  []*watchedHost
	byName map[string]*watchedHost
	news   chan hostNews // what hosts have to say
	gone   chan struct{} // closed when nobody takes it in any more
	last   time.Time     // something has changed
	busy   time.Time     // a play was sent to be watched; zero if memory was given back since
	orders int           // so many repairs were ordered
	over   bool          // it ends when nothing is being mended any more
}

// A watchedHost is what is known of a host under watch.
type watchedHost struct {
	state *hostState
	plays []*watchedPlay

	orders    chan WatchOrder // holds one
	mending   *WatchOrder     // that has not been carried out yet; nil is none
	announced bool            // it is told to be watched
	lost      time.Time       // since when it is told not to be; zero if it is not told
	phase     string          // why, in a word
	since     time.Time       // it is not watched, if it is not announced
}

// A watchedPlay is a play on a host under watch.
type watchedPlay struct {
	*selection
	entries   []watchedEntry
	unsettled []string // what never is as it shall be
	polled    int      // so many entries are only checked every now and then
	heard     bool     // that is known
}

// play is one of the host, by its number from 1; nil if it has no such play.
func (h *watchedHost) play(number int) *watchedPlay {
	i := slices.IndexFunc(h.plays, func(p *watchedPlay) bool { return p.number == number-1 })
	if i < 0 {
		return nil
	}
	return h.plays[i]
}

// entry is a resource of the play; nil if it has none of that name.
func (p *watchedPlay) entry(ref string) *watchedEntry {
	i := slices.IndexFunc(p.entries, func(e watchedEntry) bool { return e.Ref == ref })
	if i < 0 {
		return nil
	}
	return &p.entries[i]
}

// watch watches the hosts of the plays until the run is stopped.
func (f *fleet) watch(ctx context.Context) {
	whole := ctx
	ctx, end := f.untilStopped(ctx)
	defer end()
	w := &watching{fleet: f, byName: map[string]*watchedHost{}, news: make(chan hostNews), gone: make(chan struct{})}
	for _, h := range f.runner.Inventory.Hosts() {
		if state := f.states[h.Name]; state != nil {
			one := w.host(state)
			w.hosts, w.byName[h.Name] = append(w.hosts, one), one
		}
	}
	w.judge = watch.NewJudge(len(w.hosts))
	f.watching = w
	f.runner.Events.Report(events.WatchStart{Hosts: len(w.hosts)})
	var working sync.WaitGroup
	for _, h := range w.hosts {
		p := f.playOn(h.plays[0].whole(), h.state)
		if p.goesAway() {
			working.Go(func() { p.watchedAway(whole, ctx, h.orders, w.tellOf(h)) })
			continue
		}
		one := &watcher{fleet: f, state: h.state, plays: h.selections(), orders: h.orders, tell: w.tellOf(h)}
		working.Go(func() { one.run(whole, ctx) })
	}
	ended := make(chan struct{})
	go func() {
		working.Wait()
		close(ended)
	}()
	w.decide(ctx.Done(), ended, end)
}

// host is a host that is to be watched.
func (w *watching) host(state *hostState) *watchedHost {
	h := &watchedHost{state: state, orders: make(chan WatchOrder, 1), since: w.fleet.runner.Now()}
	state.plays, state.times.steps = nil, nil
	for _, s := range w.fleet.plays {
		if s.has(state.host.Name) {
			state.plays = append(state.plays, s)
			h.plays = append(h.plays, &watchedPlay{selection: s})
		}
	}
	return h
}

// selections are the plays of the host.
func (h *watchedHost) selections() []*selection {
	all := make([]*selection, len(h.plays))
	for i, p := range h.plays {
		all[i] = p.selection
	}
	return all
}

// decide takes in what hosts say, and has them mended, until all of them have ended. end ends them, and closes stopped, as does whoever
// stops the run: then repairs that are under way are waited for.
func (w *watching) decide(stopped, ended <-chan struct{}, end func()) {
	defer close(w.gone)
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
		case n := <-w.news:
			w.hear(n)
			w.hearAll()
		case request := <-w.fleet.runner.Steer:
			w.answer(request)
		case <-until:
			until, w.over = nil, true
		case <-stopped:
			stopped, w.over = nil, true
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

// hearAll takes in what else hosts have to say by now, but not for ever.
func (w *watching) hearAll() {
	for range w.hosts {
		select {
		case n := <-w.news:
			w.hear(n)
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
		if !known && !w.over || h.mending != nil {
			return time.Time{}
		}
	}
	if o.Once || w.over {
		return w.last
	}
	return w.last.Add(o.Converged)
}

// hear takes in what a host says.
func (w *watching) hear(n hostNews) {
	h, p := n.host, n.host.play(n.Play)
	switch {
	case n.Lost != nil:
		w.lose(h, n.Lost)
	case n.Mended != nil:
		w.mended(h, n.Mended)
	case p == nil: // of a play that the host does not have
	case n.Stood != nil:
		w.stood(h, p, n.Stood)
	case n.Told != nil:
		w.told(h, p, n.Told)
	}
}

// stood takes in what all resources of a play came to when it was sent to be watched.
func (w *watching) stood(h *watchedHost, p *watchedPlay, s *WatchStood) {
	p.entries, p.polled, p.heard, p.unsettled = s.Entries, 0, false, nil
	w.busy = w.fleet.runner.Now()
	refs := make(map[string]bool, len(p.entries))
	for i := range p.entries {
		refs[p.entries[i].Ref] = true
	}
	w.judge.Keep(h.state.host.Name, p.number+1, refs)
	said := make([]*WatchVerdict, len(p.entries))
	for i, v := range s.Verdicts {
		if v.Index >= 0 && v.Index < len(said) {
			said[v.Index] = &s.Verdicts[i]
		}
	}
	for i := range p.entries {
		e, v := &p.entries[i], watch.Verdict{Status: watch.Stable}
		if said[i] != nil {
			v = p.judged(said[i])
		}
		drifted := w.judged(h, p, e, v, true)
		if !drifted && v.Status == watch.Changed && v.Cause == watch.Wish {
			p.unsettled = append(p.unsettled, e.shown())
		}
	}
}

// told takes in what has become of resources.
func (w *watching) told(h *watchedHost, p *watchedPlay, t *WatchTold) {
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		if v.Index < 0 || v.Index >= len(p.entries) { // another worker has sent the play since
			continue
		}
		e := &p.entries[v.Index]
		w.judged(h, p, e, p.judged(v), false)
	}
	if t.Heard {
		p.polled, p.heard = 0, true
	}
	p.polled += t.Polled
	w.announce(h)
}

// judged has the judge hear of a resource, and reports whether it has drifted.
func (w *watching) judged(h *watchedHost, p *watchedPlay, e *watchedEntry, v watch.Verdict, first bool) (drifted bool) {
	key := watch.Key{Host: h.state.host.Name, Play: p.number + 1, Ref: e.Ref}
	for _, o := range w.judge.Told(w.fleet.runner.Now(), key, e.Rules, v, first) {
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
			if p.entries[i].Counts {
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
	if h.state.phase.over() {
		return
	}
	h.state.end()
	w.fleet.runner.Events.Report(w.fleet.runner.Tally.HostDone(h.state.host.Name, 0, events.Phases{}, h.state.ends...))
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

// lose takes in that a host is not watched for now. It is told once, and again when there is another reason.
func (w *watching) lose(h *watchedHost, l *WatchLost) {
	r := w.fleet.runner
	now := r.Now()
	w.last = now
	if h.announced {
		h.announced, h.since = false, now
		if !l.Since.IsZero() && l.Since.Before(now) {
			h.since = l.Since
		}
	}
	host := h.state.host.Name
	w.judge.Lost(host)
	text := reason(l.Failure.Event)
	if h.mending != nil {
		select {
		case <-h.orders: // that it has not got to
		default:
		}
		w.mended(h, &WatchMended{Order: h.mending.Number, Failed: h.mending.failed(text)})
	}
	for _, p := range h.plays {
		p.heard = false
	}
	if !h.state.phase.over() { // the run has not got to it, and does not
		r.Events.Report(l.Failure.Event)
		w.done(h)
	}
	phase, hint := "unreachable", ""
	switch e := l.Failure.Event.(type) {
	case events.Unreachable:
		hint = e.Hint
	case events.HostFailed:
		phase, hint = e.Phase, e.Hint
	}
	if !h.lost.IsZero() && h.phase == phase {
		return
	}
	h.lost, h.phase = h.since, phase
	e := events.Unwatched{Host: host, Since: h.since, Error: text, Hint: hint}
	if l.Wait > 0 {
		e.Next = timeOf(now.Add(l.Wait))
	}
	r.Events.Report(e)
}
