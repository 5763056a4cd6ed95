package engine

import (
	"context"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/engine/reach"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A run is a catalog in progress: a job for each entry, and their shared state. The scheduler's lock guards the state
// while jobs run in parallel.
type run struct {
	engine  *Engine
	history *history
	cat     *wire.Catalog
	jobs    jobs   // jobs of the entries, then those of resources that have left the manifest
	play    *scope // the manifest that no other is in
	emit    func(*wire.Result) error

	real      *realHost
	order     *schedule.Order
	forecasts *forecasts
	rooms     rooms
	refreshes *notes.Refreshes
	reversals *notes.Reversals
	applied   *notes.Applied
	ways      *reach.Ways    // ways to the host; nil before the first use
	armer     *job           // first predicted change for which the run arms a revert; nil before it
	undoing   *notes.Undoing // undo of another run; nil before the first reverted change
	// earlierIntent is [history].intent before the first job.
	earlierIntent bool
	clock         clock
	warning       string // about the notes, for the next result
}

// add adds the job of an entry, in the play's own manifest.
func (r *run) add(entry *wire.Entry) *job {
	j := &job{
		index: len(r.jobs), entry: entry, scope: r.play, secret: entry.Sensitive,
		monitors: r.cat.Monitor || entry.Monitor, showsTexts: r.cat.Diff,
	}
	switch {
	case entry.Check:
		j.mode = modeNoop
	case r.cat.Check:
		j.mode = modePredict
	}
	r.jobs = append(r.jobs, j)
	return j
}

// interrupted reports whether no more jobs may start. Jobs that are only skipped, since the play has ended, are still
// reported.
func (r *run) interrupted(ctx context.Context) bool {
	return r.play.endedBy == "" && (ctx.Err() != nil || r.stops())
}

func (r *run) stops() bool { return r.engine.Stop != nil && r.engine.Stop() }

// pausePoll is the interval at which a waiting job checks whether the run ends.
const pausePoll = 250 * time.Millisecond

// pause waits between two tries. It returns false if the run ends instead.
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

// mayConflict reports whether this is a check run of a graph with parallel entries.
func (r *run) mayConflict() bool { return r.cat.Check && r.order.IsGraph() && r.cat.Parallel > 1 }

// outside lets f work on the host for a job while other jobs use the run. A prediction uses the forecast, which they
// share, so it keeps the lock.
func (r *run) outside(j *job, f func()) {
	if j.predicts() {
		f()
		return
	}
	r.real.outside(f)
}

// things returns the things that a plan concerns, so that parallel jobs stay away from them.
func (r *run) things(plan modules.Plan) []string {
	if r.real.scheduler == nil {
		return nil
	}
	return r.forecasts.things(plan)
}
