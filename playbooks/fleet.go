package playbooks

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/playbooks/watch/watching"
)

// A fleet is the hosts of a run under way.
type fleet struct {
	runner *Runner
	stop   <-chan struct{}
	plays  []*selection // plays of the run, by their numbers
	states map[string]*hostState
	// followed are the hosts whose commands are shown as they write.
	followed map[string]bool

	semaphores share.Semaphores
	waits      share.Waits
	sessions   *share.Sessions
	once       onces
	commons    commons // everything that hosts share except once
	targets    targets
	apart      bool            // other hosts of the run are processed elsewhere
	lent       map[string]bool // hosts whose sessions other hosts borrow, as far as that is known
	barrier    *barrier        // holds the hosts of the current batch at workers until all are compiled; nil without --compile-first
	exchange   *share.Exchange // nil if no host receives anything from another one

	fatal          atomic.Bool // a host of a play with any_errors_fatal has failed: no other begins
	rolloutStopped bool        // or is held; it ends the run
	takeBack       []string    // see [Runner.TakeBack], and TakeBackAll
	takeBackAll    bool

	watching *watching.Watching // nil before hosts are watched
	places   chan struct{}      // places for watched hosts that are dialled and checked

	reported sync.Map // reported results of resources that ran on a host for another one, by [wire.Once]

	mu   sync.Mutex
	kept int // connections that wait for a later play
	// predicted are, in a check run, the hosts for which workers would have changed another one, by that.
	predicted map[string][]string
}

// expect notes that a play needs its hosts.
func (f *fleet) expect(s *selection) {
	for _, h := range without(s.hosts, s.done) {
		state := f.states[h.Name]
		if state == nil {
			state = newState(h, f.runner.warn, f.runner.Activity.Host(h.Name))
			f.states[h.Name] = state
		}
		state.plays = append(state.plays, s)
	}
}

// playAll runs plays one after the other. It returns false when the run must end.
func (f *fleet) playAll(ctx context.Context) bool {
	for _, s := range f.plays {
		if !f.play(ctx, s) {
			return false
		}
	}
	return !f.interrupted(ctx)
}

// play runs one play, batch after batch. It returns false when the run must end.
func (f *fleet) play(ctx context.Context, s *selection) bool {
	alive := slices.DeleteFunc(slices.Clone(s.hosts), func(h *inventory.Host) bool { return f.failed(h) })
	f.exchange.PlayBegins(s.number, alive)
	if s.play.Rollout != nil {
		if f.runner.applies() {
			return f.rollOut(ctx, s, alive)
		}
		defer f.predictBatches(ctx, s, alive)()
	}
	batches := f.runner.batches(s.number, s.play, alive)
	for i, whole := range batches {
		batch := without(whole, s.done)
		if len(batch) == 0 {
			continue
		}
		if !s.begun && !f.interrupted(ctx) {
			f.otherFacts(ctx, s)
		}
		if f.interrupted(ctx) || !f.step(ctx, s, i, batches) {
			return false
		}
		s.begun = true
		f.exchange.BatchBegins(s.number, names(batch))
		f.runner.Events.Report(events.PlayStart{Play: s.play.Name, Number: s.number + 1, Hosts: names(batch), Batch: i + 1, Batches: len(batches)})
		if !f.playBatch(ctx, s, batch, i > 0 && f.runner.Step != nil) {
			return false
		}
		if (len(s.play.Serial) > 0 || f.remains()) && f.tooManyFailed(s.play, whole) {
			return false
		}
	}
	return true
}

// playBatch takes a batch through a play. It returns false if nothing of it was applied since not all of it could be made ready.
func (f *fleet) playBatch(ctx context.Context, s *selection, batch []*inventory.Host, again bool) bool {
	hosts, first := share.ExportersFirst(s.play, batch), f.runner.Options.CompileFirst
	switch {
	case first && f.runner.Workers != nil:
		return f.workReady(ctx, s, hosts, again)
	case first && !f.compileFirst(ctx, s, batch):
		return false
	}
	f.each(ctx, hosts, again, func(state *hostState) { f.playOn(s.whole(), state).work(ctx) })
	return true
}

// each processes hosts in parallel and waits for all of them. again reports that they are the rest of a batch whose
// other hosts had their turn before.
func (f *fleet) each(ctx context.Context, hosts []*inventory.Host, again bool, work func(*hostState)) {
	begin := func(host string, in *share.WayIn) {
		state := f.states[host]
		state.in = in
		work(state)
	}
	q := share.NewQueue(names(hosts), begin, func() bool { return f.interrupted(ctx) || f.fatal.Load() })
	start := q.StartNow
	if f.barrier != nil {
		f.barrier.next = q.StartNext
		start = func(host string) {
			q.StartNow(host)
			f.barrier.start(host)
		}
	}
	f.exchange.StartWith(start)
	f.sessions.Begin(names(hosts), start)
	f.once.Begin(names(hosts), again, start)
	f.runner.fan(q, len(hosts))
	f.sessions.End(names(hosts)...)
	f.exchange.StartWith(nil)
}

// tooManyFailed decides whether a batch was bad enough to end the run. Without a
// limit of its own, a play ends when a whole batch of several hosts has failed, or the whole play.
func (f *fleet) tooManyFailed(play *manifest.Play, batch []*inventory.Host) bool {
	failed := f.failures(batch)
	tooMany := failed == len(batch)
	switch {
	case play.AnyFatal:
		tooMany = failed > 0
	case play.MaxFail != nil:
		tooMany = float64(failed)*100 > *play.MaxFail*float64(len(batch))
	}
	if tooMany {
		f.runner.warn(fmt.Sprintf("play %q: %d of %d hosts of a batch have failed; the run ends here", play.Name, failed, len(batch)))
	}
	return tooMany
}

// remains reports whether any host has something to do yet.
func (f *fleet) remains() bool {
	for _, state := range f.states {
		if !state.phase().hasFailed() && len(state.plays) > 0 {
			return true
		}
	}
	return false
}

// failed reports whether a host enters no further play. A host that has completed all of its plays has no state.
func (f *fleet) failed(h *inventory.Host) bool {
	state := f.states[h.Name]
	return state != nil && state.phase().hasFailed()
}

// batches cuts hosts into batches of the given sizes, of which the last one
// repeats; percentages are of all. Without sizes the hosts are one batch.
func batches(hosts, all []*inventory.Host, sizes []manifest.BatchSize) [][]*inventory.Host {
	var list [][]*inventory.Host
	rest := hosts
	for i := 0; len(rest) > 0; i++ {
		n := len(rest)
		if len(sizes) > 0 {
			n = min(n, sizes[min(i, len(sizes)-1)].Of(len(all)))
		}
		list = append(list, rest[:n])
		rest = rest[n:]
	}
	return list
}

func namesOf(lists [][]*inventory.Host) [][]string {
	all := make([][]string, len(lists))
	for i, hosts := range lists {
		all[i] = names(hosts)
	}
	return all
}

func names(hosts []*inventory.Host) []string {
	list := make([]string, len(hosts))
	for i, h := range hosts {
		list[i] = h.Name
	}
	return list
}

// interrupted reports whether the run must end early.
func (f *fleet) interrupted(ctx context.Context) bool { return isStopped(ctx, f.stop) }

// isStopped reports whether ctx has ended, or the first signal on stop has come.
func isStopped(ctx context.Context, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return ctx.Err() != nil
	}
}

// untilStopped is a context that the first signal ends, too. cancel ends it.
func (f *fleet) untilStopped(ctx context.Context) (ended context.Context, cancel func()) {
	return stoppable(ctx, f.stop)
}

// stoppable returns a context that a signal on stop ends, too. cancel ends it.
func stoppable(ctx context.Context, stop <-chan struct{}) (ended context.Context, cancel func()) {
	ctx, cancel = context.WithCancel(ctx)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// hold requests a place among the connections that are kept between plays.
func (f *fleet) hold() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept >= f.runner.keep() {
		return false
	}
	f.kept++
	return true
}

func (f *fleet) unhold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept--
}

// finish reports hosts as done that have waited for a play which will not begin.
func (f *fleet) finish(ctx context.Context) {
	for _, h := range f.runner.Inventory.Hosts() {
		state := f.states[h.Name]
		if state == nil || !state.phase().begun() || state.phase().over() {
			continue
		}
		if f.interrupted(ctx) && state.phase() != hostInterrupted && len(state.plays) > 0 {
			f.runner.Events.Report(events.Interrupted{Play: state.plays[0].play.Name, Host: h.Name})
		}
		f.hostDone(state)
	}
}

// notStarted returns the hosts that had not begun when the run ended, in the order of the inventory.
func (f *fleet) notStarted() []string {
	var list []string
	for _, h := range f.runner.Inventory.Hosts() {
		if state := f.states[h.Name]; state != nil && !state.phase().begun() {
			list = append(list, h.Name)
		}
	}
	return list
}

// notRun returns the names of plays that have not begun and still have hosts.
func notRun(plays []*selection) []string {
	var list []string
	for _, s := range plays {
		if !s.begun && len(without(s.hosts, s.done)) > 0 {
			list = append(list, s.play.Name)
		}
	}
	return list
}

func (f *fleet) hostDone(state *hostState) {
	state.end()
	state.activity.Done()
	for _, s := range state.plays {
		state.ends = append(state.ends, events.PlayEnd{Number: s.number + 1, State: events.StateNotStarted})
	}
	done := f.runner.Tally.HostDone(state.host.Name, state.times.elapsed, state.times.phases, state.ends...)
	done.Steps = state.times.steps
	f.runner.Events.Report(done)
}

// close closes all open connections.
func (f *fleet) close() {
	for _, state := range f.states {
		f.acknowledge(state)
		state.close()
	}
	f.targets.close(f.acknowledge)
	f.semaphores.Close()
}
