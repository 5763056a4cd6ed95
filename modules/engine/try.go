package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/before"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/excerpt"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// errTimeUp is why the context of a try ended.
var errTimeUp = errors.New("the time of the try is up")

// tries runs the job until it has succeeded, or has used its tries. Predictions and queries have one try.
func (t *turn) tries(ctx context.Context) error {
	r, j := t.run, t.job
	var acted *result // the first try that may have changed the host and failed
	for try := t.resume(); ; try++ {
		began := r.engine.Now()
		r.refreshes.Begins(j.index)
		err := t.try(ctx)
		if reason, ok := errors.AsType[modules.SkipError](err); ok && acted == nil {
			j.result.Status, j.result.Reason, j.result.Message, err = wire.Skipped, wire.SkippedByType, excerpt.Of(string(reason), maxText), nil
		}
		if acted != nil && j.result.Status == "" { // the remaining result counts
			j.result.changeAs(acted)
		}
		if err == nil {
			t.tellDone()
		}
		if try > 1 {
			j.result.Tries = try
		}
		if err == nil || err == ErrBeforeTurn || errors.Is(err, errForgotten) || j.predicts() || try > j.entry.Retry {
			return err
		}
		if j.result.Status == wire.Changed && acted == nil {
			before := *j.result
			acted = &before
		}
		t.endTry(try)
		goOn := false
		r.real.scheduler.Aside(j.index, func() { goOn = r.pause(ctx, max(j.entry.Delay, spacing(j.entry)-r.engine.Now().Sub(began))) })
		if !goOn || t.begins() != nil {
			return err
		}
		*j.result = result{Index: j.index}
		t.said.exit = nil
		t.said.Message("warning", fmt.Sprintf("try %d of %d failed: %v", try, j.entry.Retry+1, err))
	}
}

// spacing returns the shortest time between the beginnings of two tries.
func spacing(e *wire.Entry) time.Duration {
	if e.Limit <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / e.Limit)
}

// timed bounds the time of a try.
func timed(ctx context.Context, e *wire.Entry) (context.Context, context.CancelFunc) {
	if e.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, e.Timeout, errTimeUp)
}

// late is the error of a try that has ended with err: its time was up, if it was.
func late(try context.Context, e *wire.Entry, err error) error {
	if err != nil && context.Cause(try) == errTimeUp {
		return modules.Refuse("timed out after %v (timeout)", e.Timeout)
	}
	return err
}

// try is one try, in the time that it may take: it checks and then predicts or applies.
func (t *turn) try(ctx context.Context) error {
	j, scheduler := t.job, t.run.real.scheduler
	try, end := timed(ctx, j.entry)
	defer func() { end() }()
	if j.entry.Query != "" {
		return late(try, j.entry, t.query(try))
	}
	since, a := scheduler.Clock(), &attempt{turn: t}
	err := a.check(try)
	for err == nil && a.plan.Pending() && !j.predicts() {
		if t.wantsSemaphores() {
			end()
			if err := t.takeSemaphores(ctx, a.plan); err != nil {
				return err
			}
		} else if why := (guarded{a}).needsConfirm(); why != "" {
			end()
			if err := t.confirm(ctx, a, why); err != nil {
				return err
			}
		} else {
			if a.claimed = t.run.things(a.plan); scheduler.Claim(a.claimed, since) {
				break
			}
			end()
		}
		// Other jobs may have run meanwhile; their time does not count for this try.
		try, end = timed(ctx, j.entry)
		since, a = scheduler.Clock(), &attempt{turn: t}
		err = a.check(try)
	}
	switch {
	case err != nil:
	case !a.plan.Pending():
		err = a.fetch(try)
	case j.predicts():
		err = a.predict(try)
	default:
		err = a.apply(try)
	}
	return late(try, j.entry, err)
}

// predict is the result of an attempt that would carry out its plan.
func (a *attempt) predict(ctx context.Context) error {
	r, j := a.turn.run, a.turn.job
	j.acted.began, j.acted.serves = r.clock.next(), a.plan.Serves
	a.show(ctx)
	if j.mode == modePredict {
		if err := r.refreshes.MayAnnounce(j.index); err != nil {
			return err
		}
		if err := (guarded{a}).predictRefusal(ctx); err != nil {
			return err
		}
	}
	if err := a.noteReversal(ctx); err != nil {
		return err
	}
	j.result.Message = a.plan.Predicted()
	lacks := r.rooms.lacks(r.real.host.Files, a.plan)
	if lacks != "" {
		a.turn.said.Message(modules.LevelWarning, lacks)
	}
	// Whether it succeeds is known only when it has run.
	switch ref := j.entry.Ref(); {
	case a.plan.MayFail || lacks != "":
		j.prediction.Doubt(ref)
	case opaque(a.plan), a.plan.LikelySucceeds:
		j.prediction.Add(forecast.Doubt{Ref: ref, Grade: modules.Likely})
	}
	listed{a: a}.distrust()
	r.forecasts.record(j, j.entry.Ref(), a.plan)
	if s, ok := j.resource.(*before.Restore); ok {
		return s.Incomplete()
	}
	return nil
}

// apply carries out the plan.
func (a *attempt) apply(ctx context.Context) error {
	r, j := a.turn.run, a.turn.job
	defer r.real.scheduler.Unclaim(a.claimed)
	if a.plan.Idle {
		err := a.carryOut(ctx)
		if err == nil {
			a.turn.said.Message(modules.LevelInfo, a.plan.Action)
		}
		return err
	}
	a.show(ctx)
	if err := a.noteReversal(ctx); err != nil {
		return err
	}
	j.result.Message = a.plan.Action
	listed := listed{a: a}
	listed.begin()
	j.acted.began = r.clock.next()
	err := a.carryOut(ctx)
	listed.compare()
	if err != nil {
		return err
	}
	j.acted.serves = a.plan.Serves
	r.forecasts.record(j, j.entry.Ref(), a.plan)
	return nil
}

// show adds the change to the result.
func (a *attempt) show(ctx context.Context) {
	j := a.turn.job
	j.result.change(a.plan, a.triggers)
	j.result.Cause = a.cause()
	if j.diffs() {
		a.turn.outside(func() { j.result.Diff = unifiedDiffs(ctx, a.seen, a.plan.Texts) })
	}
}

// query runs the query of the entry.
func (t *turn) query(ctx context.Context) error {
	e := t.job.entry
	q, ok := t.job.resource.(modules.Querier)
	if e.Query != modules.StatusQuery && (!ok || !slices.Contains(q.Queries(), e.Query)) {
		return modules.Refuse("type %s does not answer %q", e.Type, e.Query)
	}
	var answer json.RawMessage
	var err error
	seen := t.run.real.present(t.said)
	t.outside(func() {
		if e.Query == modules.StatusQuery {
			answer, err = modules.StatusOf(ctx, t.job.resource, seen)
		} else {
			answer, err = q.Query(ctx, seen, e.Query)
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
	t.said.State(modules.State{Before: answer})
	return nil
}
