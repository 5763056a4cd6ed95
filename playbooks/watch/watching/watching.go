package watching

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/activity"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// Hosts listens to hosts and repairs them.
type Hosts interface {
	// Watch watches a host until the end of until, and carries out orders. The end of ctx, which is later, kills running commands.
	// It returns when the host is not watched any more.
	Watch(ctx, until context.Context, host string, orders <-chan Order, tell Tell)
	// Done reports that a host has ended the run. It is called once, for hosts without [Host.Done].
	Done(host string)
}

// A Tell handles news of a host. It returns when they are handled, or when no goroutine needs them any more.
type Tell func(ctx context.Context, n News)

// A Host is a host to watch.
type Host struct {
	Name  string
	Plays []Play
	Done  bool // its end was reported
}

// A Play is a play of a host.
type Play struct {
	Number int // number in the run, from 1
	Name   string
}

// Options hold flags of the command line.
type Options struct {
	Run  string // id of the run
	Once bool   // watching ends when each host was checked, or could not be
	// Converged is the time without a change after which watching ends; 0 means never.
	Converged time.Duration
	// Until ends watching when it is closed, after the repairs in progress; nil never does.
	Until <-chan struct{}
}

// A Watching watches hosts. The goroutine of [Watching.Run] decides about all of them.
type Watching struct {
	Hosts    Hosts
	Options  Options
	Events   *events.Stream
	Now      func() time.Time
	Activity *activity.Tracker
	Steer    <-chan rollout.Request

	judge  *watch.Judge
	hosts  []*watchedHost
	byName map[string]*watchedHost
	news   chan hostNews // news of hosts
	gone   chan struct{} // closed when news are not taken in any more
	last   time.Time     // when something changed
	busy   time.Time     // when a play was sent to be watched; zero if memory was given back since
	orders int           // repairs that were ordered
	over   bool          // watching ends when no repair is in progress
}

// A watchedHost is a host under watch.
type watchedHost struct {
	Host
	plays []*watchedPlay

	orders    chan Order // holds one
	mending   *Order     // order that is not carried out yet; nil means none
	announced bool       // the last event reports the host as watched
	lost      time.Time  // start of the time that the last event reports as unwatched; zero means none
	phase     string     // phase in which the host was lost
	since     time.Time  // since when the host is not watched, if it is not announced
}

// A watchedPlay is a play on a host under watch.
type watchedPlay struct {
	Play
	entries   []Entry
	unsettled []string // resources that never have their desired state
	polled    int      // entries that the host only checks from time to time
	heard     bool     // polled is known
}

// play returns a play of the host, by its number from 1, or nil for an unknown number.
func (h *watchedHost) play(number int) *watchedPlay {
	i := slices.IndexFunc(h.plays, func(p *watchedPlay) bool { return p.Number == number })
	if i < 0 {
		return nil
	}
	return h.plays[i]
}

// entry returns a resource of the play; nil if it has none of that name.
func (p *watchedPlay) entry(ref string) *Entry {
	i := slices.IndexFunc(p.entries, func(e Entry) bool { return e.Ref == ref })
	if i < 0 {
		return nil
	}
	return &p.entries[i]
}

// Begin prepares to watch hosts.
func (w *Watching) Begin(hosts []Host) {
	w.byName, w.news, w.gone = map[string]*watchedHost{}, make(chan hostNews), make(chan struct{})
	for _, h := range hosts {
		one := &watchedHost{Host: h, orders: make(chan Order, 1), since: w.Now()}
		for _, p := range h.Plays {
			one.plays = append(one.plays, &watchedPlay{Play: p})
		}
		w.hosts, w.byName[h.Name] = append(w.hosts, one), one
	}
	w.judge = watch.NewJudge(len(w.hosts))
}

// Run watches the hosts until the context until ends, which end cancels, too. The end of ctx ends it by force.
func (w *Watching) Run(ctx, until context.Context, end func()) {
	w.Events.Report(events.WatchStart{Hosts: len(w.hosts)})
	var working sync.WaitGroup
	for _, h := range w.hosts {
		working.Go(func() { w.Hosts.Watch(ctx, until, h.Name, h.orders, w.Tell(h.Name)) })
	}
	ended := make(chan struct{})
	go func() {
		working.Wait()
		close(ended)
	}()
	w.decide(until.Done(), ended, end)
}

// Tell returns the function that handles news of a host; nil if the host is not watched.
func (w *Watching) Tell(host string) Tell {
	if w == nil || w.byName[host] == nil {
		return nil
	}
	return func(ctx context.Context, n News) {
		select {
		case w.news <- hostNews{w.byName[host], n}:
		case <-ctx.Done():
		case <-w.gone:
		}
	}
}

// decide handles news of hosts and orders repairs until all hosts have ended. end ends them, and closes stopped, as does the first
// signal: decide then waits for repairs in progress.
func (w *Watching) decide(stopped, ended <-chan struct{}, end func()) {
	defer close(w.gone)
	timer := time.NewTimer(0)
	defer timer.Stop()
	w.last = w.Now()
	until := w.Options.Until
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
		now := w.Now()
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
		case request := <-w.Steer:
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

// restTime is the time since the last play was sent, after which memory is returned to the system.
const restTime = 5 * time.Second

// giveBack releases memory that hosts needed until they were watched, once no play was sent for a while. at is the time of the next
// call; zero means never.
func (w *Watching) giveBack(now time.Time) (at time.Time) {
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

// hearAll handles the other news that have arrived, at most one per host.
func (w *Watching) hearAll() {
	for range w.hosts {
		select {
		case n := <-w.news:
			w.hear(n)
		default:
			return
		}
	}
}

// converges returns when watching ends if nothing changes until then; zero means never.
func (w *Watching) converges() time.Time {
	o := &w.Options
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

// hear handles news of a host.
func (w *Watching) hear(n hostNews) {
	h, p := n.host, n.host.play(n.Play)
	switch {
	case n.Lost != nil:
		w.lose(h, n.Lost)
	case n.Mended != nil:
		w.mended(h, n.Mended)
	case p == nil: // the number of the play is unknown
	case n.Stood != nil:
		w.stood(h, p, n.Stood)
	case n.Told != nil:
		w.told(h, p, n.Told)
	}
}

// stood handles the first state of a play.
func (w *Watching) stood(h *watchedHost, p *watchedPlay, s *Stood) {
	p.entries, p.polled, p.heard, p.unsettled = s.Entries, 0, false, nil
	w.busy = w.Now()
	refs := make(map[string]bool, len(p.entries))
	for i := range p.entries {
		refs[p.entries[i].Ref] = true
	}
	w.judge.Keep(h.Name, p.Number, refs)
	said := make([]*Verdict, len(p.entries))
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

// told handles changes of resources.
func (w *Watching) told(h *watchedHost, p *watchedPlay, t *Told) {
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

// judged passes a verdict to the judge, and reports whether the resource has drifted.
func (w *Watching) judged(h *watchedHost, p *watchedPlay, e *Entry, v watch.Verdict, first bool) (drifted bool) {
	key := watch.Key{Host: h.Name, Play: p.Number, Ref: e.Ref}
	for _, o := range w.judge.Told(w.Now(), key, e.Rules, v, first) {
		drifted = drifted || o.Kind == watch.Drifted
		w.tell(p, e, o)
	}
	return drifted
}

// announce reports that a host is watched, once all of its plays are heard.
func (w *Watching) announce(h *watchedHost) {
	if h.announced || slices.ContainsFunc(h.plays, func(p *watchedPlay) bool { return !p.heard }) {
		return
	}
	h.announced, h.lost, w.last = true, time.Time{}, w.Now()
	w.judge.Found(h.Name)
	w.done(h)
	e := events.Watched{Host: h.Name}
	for _, p := range h.plays {
		for i := range p.entries {
			if p.entries[i].Counts {
				e.Resources++
			}
		}
		e.Polled += p.polled
		e.Unsettled = append(e.Unsettled, p.unsettled...)
	}
	w.Events.Report(e)
}

// done reports that a host has ended the run, unless it was reported: no play was applied.
func (w *Watching) done(h *watchedHost) {
	if !h.Done {
		h.Done = true
		w.Hosts.Done(h.Name)
	}
}

// show updates the progress line.
func (w *Watching) show() {
	t := w.Totals()
	w.Activity.Watching(activity.Watch{Watched: t.Hosts - t.Unwatched, Unwatched: t.Unwatched, Drifted: t.Drifted, Fighting: t.Fighting})
}

// Totals counts hosts and resources by their state at the end; nil if no hosts were watched.
func (w *Watching) Totals() *events.WatchTotals {
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

// lose handles a host that is not watched for now. It is reported once, and again for another reason.
func (w *Watching) lose(h *watchedHost, l *Lost) {
	now := w.Now()
	w.last = now
	if h.announced {
		h.announced, h.since = false, now
		if !l.Since.IsZero() && l.Since.Before(now) {
			h.since = l.Since
		}
	}
	host := h.Name
	w.judge.Lost(host)
	text := events.FailureText(l.Failure.Event)
	if h.mending != nil {
		select {
		case <-h.orders: // the host has not begun it
		default:
		}
		w.mended(h, &Mended{Order: h.mending.Number, Failed: h.mending.failed(text)})
	}
	for _, p := range h.plays {
		p.heard = false
	}
	if !h.Done { // no play of the run has run there
		w.Events.Report(l.Failure.Event)
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
	w.Events.Report(e)
}
