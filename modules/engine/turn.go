package engine

import (
	"context"
	"encoding/json"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// A turn is the work on one job of a run.
type turn struct {
	run        *run
	job        *job
	said       *said
	properties json.RawMessage // properties with received values; nil if it receives none
	free       func()          // releases its semaphores; nil if it holds none
	began      modules.Repeat  // the command that the turn has started, if any
	ended      int             // number of completed tries, including tries in earlier sessions
}

func (r *run) newTurn(j *job) *turn { return &turn{run: r, job: j, said: &said{}} }

// outside has f work on the host, while others touch the run.
func (t *turn) outside(f func()) { t.run.outside(t.job, f) }

// begins returns ErrBeforeTurn if the manifest of a waiting job has ended meanwhile.
func (t *turn) begins() error {
	if t.job.scope.ended() != "" {
		return ErrBeforeTurn
	}
	return nil
}

// wantsSemaphores reports whether the job, which has something to do, has to wait for its
// semaphores.
func (t *turn) wantsSemaphores() bool {
	return t.run.engine.Semaphores != nil && len(t.job.entry.Sema) > 0 && t.free == nil && !t.job.predicts()
}

// takeSemaphores waits for the semaphores of the job before a plan is applied. Preloaded data may be outdated
// afterwards.
func (t *turn) takeSemaphores(ctx context.Context, plan modules.Plan) error {
	var release func()
	var err error
	would := ""
	if !t.job.secret {
		would = excerpt.Of(plan.Predicted(), maxText)
	}
	t.run.real.scheduler.Aside(t.job.index, func() { release, err = t.run.engine.Semaphores(ctx, t.job.index, would) })
	if err == nil {
		t.free = release
		t.run.real.forget()
		err = t.begins()
	}
	return err
}

// release releases the semaphores of the job.
func (t *turn) release() {
	if release := t.free; release != nil {
		t.free = nil
		release()
	}
}

// An attempt is one try of a turn: what its check has found to be done.
type attempt struct {
	turn     *turn
	plan     modules.Plan
	own      bool         // the plan is due without a subscription
	seen     modules.Host // host that was shown to the resource
	triggers []string     // the entries that the resource was refreshed by
	claimed  []string     // things of the plan, while it is applied
	kept     *keep        // former state; nil if nothing is kept
	unkept   string       // why its type cannot restore the former state; "" if it can
}
