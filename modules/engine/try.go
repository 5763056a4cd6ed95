package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// ErrBeforeTurn says that the run ends before a job has had its turn. What [Engine].Need
// and Turn return then.
var ErrBeforeTurn = errors.New("the run ends before its turn")

// ErrKilled is why commands of a killed run end: the cause of its context.
var ErrKilled = errors.New(modules.RunInterrupted)

// errTimeUp is why the context of a try ended.
var errTimeUp = errors.New("the time of the try is up")

// tries has the job try until it has succeeded, or has tried often enough. What is
// only predicted, or asked, is tried once.
func (j *job) tries(ctx context.Context) error {
	if unknown, err := j.receive(ctx); err != nil {
		return err
	} else if unknown != "" {
		j.result.Status, j.result.Message = modules.Changed, unknown
		return nil
	}
	r, result := j.run, j.result
	var acted *modules.Result // the first try that may have changed the host and failed
	for try := 1; ; try++ {
		began := r.engine.Now()
		r.refreshes.Begins(j.index)
		err := j.try(ctx)
		if reason, ok := errors.AsType[modules.Unmanaged](err); ok && acted == nil {
			result.Status, result.Message, err = modules.Skipped, excerpt.Of(string(reason), maxText), nil
		}
		if acted != nil && result.Status == "" { // what is left of it counts
			result.Status, result.Message = acted.Status, acted.Message
			result.Refreshed, result.RefreshedBy = acted.Refreshed, acted.RefreshedBy
			result.Changes, result.Diff = acted.Changes, acted.Diff
		}
		if try > 1 {
			result.Tries = try
		}
		if err == nil || err == ErrBeforeTurn || j.predicts() || try > j.entry.Retry {
			return err
		}
		if result.Status == modules.Changed && acted == nil {
			before := *result
			acted = &before
		}
		goOn := false
		r.scheduler.Aside(j.index, func() { goOn = r.pause(ctx, max(j.entry.Delay, j.spacing()-r.engine.Now().Sub(began))) })
		if !goOn || j.begins() != nil {
			return err
		}
		*result = modules.Result{Index: j.index}
		j.said.exit = nil
		j.said.Message("warning", fmt.Sprintf("try %d of %d failed: %v", try, j.entry.Retry+1, err))
	}
}

// spacing is how long it takes at least from the beginning of a try to that of the
// next one.
func (j *job) spacing() time.Duration {
	if j.entry.Limit <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / j.entry.Limit)
}

// try is one try, in the time that it may take: it checks and then predicts or applies.
func (j *job) try(ctx context.Context) error {
	try, end := j.timed(ctx)
	defer func() { end() }()
	if j.entry.Query != "" {
		return j.late(try, j.query(try))
	}
	since := j.run.scheduler.Clock()
	found, err := j.check(try)
	for err == nil && found.plan.Pending() && !j.predicts() {
		if j.waitsForTurn() {
			end()
			if err := j.awaitTurn(ctx); err != nil {
				return err
			}
		} else {
			if found.claimed = j.run.things(found.plan); j.run.scheduler.Claim(found.claimed, since) {
				break
			}
			end()
		}
		// Others may have been at work meanwhile, and their time is not that of this try.
		try, end = j.timed(ctx)
		since = j.run.scheduler.Clock()
		found, err = j.check(try)
	}
	switch {
	case err != nil || !found.plan.Pending():
	case j.predicts():
		err = j.predict(try, found)
	default:
		err = j.apply(try, found)
	}
	return j.late(try, err)
}

// timed bounds the time of a try.
func (j *job) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if j.entry.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, j.entry.Timeout, errTimeUp)
}

// late is the error of a try that has ended with err: its time was up, if it was.
func (j *job) late(try context.Context, err error) error {
	if err != nil && context.Cause(try) == errTimeUp {
		return modules.Refuse("timed out after %v (timeout)", j.entry.Timeout)
	}
	return err
}

// A finding is what a check has found to be done.
type finding struct {
	plan    modules.Plan
	seen    modules.Host // as it was shown to the resource
	claimed []string     // what the plan is about, while it is carried out
}

// predict is the result of a job that would carry out a plan.
func (j *job) predict(try context.Context, found finding) error {
	j.show(try, found)
	if j.mode == modePredict {
		if err := j.run.refreshes.MayAnnounce(j.index); err != nil {
			return err
		}
	}
	if err := j.noteReversal(try, found); err != nil {
		return err
	}
	j.result.Message = found.plan.Foretold()
	if opaque(found.plan) {
		j.prediction.Doubt(j.entry.Ref()) // whether it succeeds is known only when it has run
	}
	j.record(j.entry.Ref(), found.plan)
	return nil
}

// apply carries out a plan.
func (j *job) apply(try context.Context, found finding) error {
	defer j.run.scheduler.Unclaim(found.claimed)
	j.show(try, found)
	if err := j.noteReversal(try, found); err != nil {
		return err
	}
	j.result.Message = found.plan.Action
	if err := j.carryOut(try, found.plan); err != nil {
		return err
	}
	j.record(j.entry.Ref(), found.plan)
	return nil
}

// show has the result tell of a change.
func (j *job) show(try context.Context, found finding) {
	j.result.Status, j.result.Refreshed = modules.Changed, found.plan.Refreshed
	if found.plan.Refreshed {
		j.result.RefreshedBy = j.triggers
	}
	j.result.Changes = found.plan.Changes
	if j.diffs() {
		j.outside(func() { j.result.Diff = unifiedDiffs(try, found.seen, found.plan.Texts) })
	}
}

// waitsForTurn reports whether the job, which has something to do, has to wait for its
// semaphores.
func (j *job) waitsForTurn() bool {
	return j.run.engine.Turn != nil && len(j.entry.Sema) > 0 && j.free == nil && !j.predicts()
}

// begins gives ErrBeforeTurn if the manifest of a job that has waited has ended
// meanwhile.
func (j *job) begins() error {
	if j.scope.ended() != "" {
		return ErrBeforeTurn
	}
	return nil
}

// awaitTurn waits for the semaphores of the job. What was found out about the host
// before may be out of date then.
func (j *job) awaitTurn(ctx context.Context) error {
	var over func()
	var err error
	j.run.scheduler.Aside(j.index, func() { over, err = j.run.engine.Turn(ctx, j.index) })
	if err == nil {
		j.free = over
		j.run.forget()
		err = j.begins()
	}
	return err
}

// release gives the semaphores of the job back.
func (j *job) release() {
	if over := j.free; over != nil {
		j.free = nil
		over()
	}
}

// query asks the resource what it is to be asked.
func (j *job) query(ctx context.Context) error {
	q, ok := j.resource.(modules.Querier)
	if j.entry.Query != modules.StatusQuery && (!ok || !slices.Contains(q.Queries(), j.entry.Query)) {
		return modules.Refuse("type %s does not answer %q", j.entry.Type, j.entry.Query)
	}
	var answer json.RawMessage
	var err error
	seen := j.run.present(j.said)
	j.outside(func() {
		if j.entry.Query == modules.StatusQuery {
			answer, err = modules.StatusOf(ctx, j.resource, seen)
		} else {
			answer, err = q.Query(ctx, seen, j.entry.Query)
		}
	})
	if err != nil {
		return err
	}
	if answer, err = json.Marshal(answer); err != nil {
		return err
	}
	if len(answer) > maxAnswer {
		return modules.Refuse("the answer has %d bytes of JSON, more than %d", len(answer), maxAnswer)
	}
	j.said.State(modules.State{Before: answer})
	return nil
}
