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

// A run is one catalog under way: a job for each entry, and what they share. Whoever
// touches it while jobs are worked on at once holds the lock of the scheduler.
type run struct {
	engine  *Engine
	history *history
	cat     *wire.Catalog
	jobs    jobs   // those of the entries, and behind them those of what has left the manifest
	play    *scope // the manifest that no other is in
	emit    func(*wire.Result) error

	real      *realHost
	order     *schedule.Order
	forecasts *forecasts
	rooms     rooms
	refreshes *notes.Refreshes
	reversals *notes.Reversals
	applied   *notes.Applied
	ways      *reach.Ways    // to the host; nil before they are asked for
	undoing   *notes.Undoing // of a run that takes another one back; nil before it has
	// earlierIntent is [history].intent before the first job.
	earlierIntent bool
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

// interrupted reports whether nothing more shall be started. What is only skipped,
// since the play has ended already, is told in any case.
func (r *run) interrupted(ctx context.Context) bool {
	return r.play.endedBy == "" && (ctx.Err() != nil || r.stops())
}

func (r *run) stops() bool { return r.engine.Stop != nil && r.engine.Stop() }

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

// mayConflict reports whether a check run is about a graph of which several are worked on
// at once.
func (r *run) mayConflict() bool { return r.cat.Check && r.order.IsGraph() && r.cat.Parallel > 1 }

// outside has f work on the host for a job, while others touch the run. What is only
// predicted is about the forecast, which they touch too.
func (r *run) outside(j *job, f func()) {
	if j.predicts() {
		f()
		return
	}
	r.real.outside(f)
}

// things gives what a plan is about, for others that are worked on at once.
func (r *run) things(plan modules.Plan) []string {
	if r.real.scheduler == nil {
		return nil
	}
	return r.forecasts.things(plan)
}
