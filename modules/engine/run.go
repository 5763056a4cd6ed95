package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// A run is one catalog under way: a job for each entry, and what they share.
type run struct {
	engine  *Engine
	history *history
	cat     *modules.Catalog
	host    modules.Host // the real one
	jobs    []*job       // those of the entries, and behind them those of what has left the manifest
	play    *scope       // the manifest that no other is in
	emit    func(*modules.Result) error

	forecasts *forecast.Pair
	refreshes *notes.Refreshes
	reversals *notes.Reversals
	warning   string // about the notes, for the next result

	preloads preloads     // what types have found out about their resources
	changes  atomic.Int64 // counts what may have changed the host; see job.stable

	ancestors schedule.Ancestors // see before; nil until they are needed
	// scheduler has jobs worked on at once: whoever touches the run then holds its lock,
	// and lets go of it while only the host is worked on; see outside. nil if they are
	// worked on in order.
	scheduler *schedule.Scheduler
}

// newRun makes the jobs of a catalog, with their resources as far as those are known.
func (e *Engine) newRun(cat *modules.Catalog, emit func(*modules.Result) error) (*run, error) {
	if e.history == nil {
		e.history = &history{}
	}
	h := e.history
	if h.states == nil {
		h.states, h.sent = newStates(), notes.NewSent(e.Sent)
	}
	r := &run{engine: e, history: h, cat: cat, host: e.Host, emit: emit, preloads: preloads{}}
	r.host.State = h.states.last
	r.forecasts = h.predict(cat, r.host)
	r.play = &scope{failOnError: cat.FailOnError}
	for i := range cat.Entries {
		r.add(&cat.Entries[i])
	}
	if err := r.findScopes(); err != nil {
		return nil, err
	}
	r.findValues()
	for _, j := range r.jobs {
		if e := j.entry; !e.Excluded && !e.Hidden && e.Scope == nil && len(e.Receive) == 0 {
			j.decode(e)
		}
	}
	return r, nil
}

// add adds the job of an entry, in the play's own manifest.
func (r *run) add(entry *modules.Entry) *job {
	j := &job{run: r, index: len(r.jobs), entry: entry, scope: r.play, secret: entry.Sensitive}
	switch {
	case entry.Check:
		j.mode = modeNoop
	case r.cat.Check:
		j.mode = modePredict
	}
	r.jobs = append(r.jobs, j)
	return j
}

// inOrder works on all jobs one after the other.
func (r *run) inOrder(ctx context.Context) (stopped bool, err error) {
	for _, j := range r.jobs {
		if j.joint == nil && r.interrupted(ctx) {
			return true, nil
		}
		if began, err := r.step(ctx, j); err != nil || !began {
			return !began, err
		}
	}
	return false, nil
}

// atOnce works on as many jobs at once as the catalog says.
func (r *run) atOnce(ctx context.Context) (stopped bool, err error) {
	r.scheduler = schedule.New(r.cat.Entries, schedule.Work{
		Parallel: r.cat.Parallel,
		Alone: func(i int) bool {
			_, batches := r.jobs[i].resource.(modules.Batcher)
			return batches
		},
		Turn:        func(i int) (began bool, err error) { return r.step(ctx, r.jobs[i]) },
		Interrupted: func() bool { return r.interrupted(ctx) },
	})
	return r.scheduler.Run()
}

// interrupted reports whether nothing more shall be started. What is only skipped,
// since the play has ended already, is told in any case.
func (r *run) interrupted(ctx context.Context) bool {
	return r.play.endedBy == "" && (ctx.Err() != nil || r.stops())
}

func (r *run) stops() bool { return r.engine.Stop != nil && r.engine.Stop() }

// step brings one job to its result and hands that out. began is false if the run
// is to end before the turn of the job has come.
func (r *run) step(ctx context.Context, j *job) (began bool, err error) {
	start := r.engine.Now()
	if !j.work(ctx) {
		return false, nil
	}
	result := j.result
	result.Duration = r.engine.Now().Sub(start)
	if text := r.warning; text != "" {
		r.warning = ""
		result.Messages = append([]modules.Note{{Level: "warning", Text: excerpt.Of(text, maxText)}}, result.Messages...)
	}
	failed := result.Status == modules.Failed && !j.monitors()
	if failed {
		j.tellWaiting()
	}
	if err := r.emit(result); err != nil {
		return true, err
	}
	if failed {
		j.endScope()
	}
	return true, nil
}

// pausePoll is how often a job that waits looks whether the run shall end.
const pausePoll = 250 * time.Millisecond

// pause waits between two tries. It reports false if the run shall end instead.
func (r *run) pause(ctx context.Context, d time.Duration) bool {
	for {
		if ctx.Err() != nil || r.stops() {
			return false
		}
		if d <= 0 {
			return true
		}
		timer := time.NewTimer(min(d, pausePoll))
		select {
		case <-timer.C:
			d -= pausePoll
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// present is the Host that Check sees in an applying run: the real one, as it is.
func (r *run) present(report modules.Reporter) modules.Host {
	h := modules.ReadOnly(r.host)
	h.Report = report
	h.Commands = probing{h.Commands, &r.changes}
	return h
}

// acting is the Host that Apply is given.
func (r *run) acting(report modules.Reporter) modules.Host {
	h := r.host
	h.Report, h.Forecast = report, modules.NoForecast{}
	return h
}

// change has f change the host. While it does, nothing that is found out holds for
// others: it may be half done.
func (r *run) change(f func()) {
	r.forget()
	if r.scheduler == nil {
		f()
		return
	}
	r.scheduler.Change(f)
	r.forget()
}

// forget drops what was found out about the host beforehand: it is about to change.
func (r *run) forget() {
	r.preloads.drop()
	r.changes.Add(1)
}

// probing are commands of a Check. They should only look, which is not certain.
type probing struct {
	modules.Commands
	changes *atomic.Int64
}

// Probe implements [modules.Commands].
func (p probing) Probe(ctx context.Context, c modules.Command) (modules.Exit, error) {
	p.changes.Add(1)
	return p.Commands.Probe(ctx, c)
}
