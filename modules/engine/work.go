package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/excerpt"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// work brings a job to its result. It reports false if the run is to end before its turn
// has come.
func (r *run) work(ctx context.Context, j *job) bool {
	j.result = &result{Index: j.index}
	switch unmet, doubt := r.jobs.requirements(j); {
	case j.entry.Unselected != "" && !r.refreshesNow(j):
		r.leaveUnselected(j)
	case j.entry.Excluded:
		j.result.skip(wire.SkippedByControl, "excluded by control", "")
	case j.undone.cannot() != "":
		j.result.skip(wire.SkippedNotRestorable, j.undone.cannot(), "")
	case j.entry.Hidden:
		j.result.skip(wire.SkippedHidden, "hidden: defined, not run", "")
	case j.joint == nil && j.scope.ended() != "":
		j.leaveOut()
	case j.scope.idle():
		r.leaveRescue(j)
	case len(unmet) > 0:
		j.result.Unmet = true
		j.result.skip(wire.SkippedRequirement, unmetRequirement, strings.Join(unmet, ", "))
	default:
		j.scope.begin()
		j.prediction = &forecast.Prediction{Because: doubt}
		if r.mayConflict() && !j.entry.Reversal { // resources that have left come after everything
			j.prediction.Reads = forecast.NewReadSet()
		}
		t := r.newTurn(j)
		err := t.act(ctx)
		if err == ErrBeforeTurn && j.scope.ended() == "" {
			return false
		}
		if err == ErrBeforeTurn {
			t.release()
			j.leaveOut()
			break
		}
		t.settle(ctx, err)
	}
	j.tellCut()
	if doubt := j.scope.mayBeEndedBy(); j.result.Status == wire.Skipped && j.predicts() && doubt.Any() { // the run may have ended before
		doubt.Ref = cmp.Or(j.result.Because, doubt.Ref)
		j.result.doubt(doubt)
	}
	j.acted.ended = r.clock.next()
	if j.status = j.result.Status; j.status == wire.Failed && !r.cat.Monitor && !j.result.Killed && j.scope.isRescued() {
		j.result.Status = wire.Rescued // the failure is reported as rescued
	}
	j.scope.doubtful = j.scope.doubtful.Or(j.blamed())
	return true
}

// leaveOut is the result of a job whose manifest or block a failure has ended.
func (j *job) leaveOut() {
	j.result.Unmet, j.leftOut = true, true
	ended := j.scope.ending()
	reason, why := wire.SkippedPlayEnded, `skipped because its manifest has "fail_on_error"`
	if ended.isPart() {
		reason, why = wire.SkippedBlockEnded, "skipped because its block has failed"
	}
	j.result.skip(reason, why, ended.endedBy)
}

// act processes the job, up to its health checks.
func (t *turn) act(ctx context.Context) error {
	switch j := t.job; {
	case j.joint != nil:
		return t.reportJoint()
	case j.nested != nil:
		return t.sumUp()
	case len(j.entry.Awaits) > 0 && !j.monitors:
		return t.unknown()
	case j.entry.On != "" || j.entry.Once:
		if here, err := t.elsewhere(ctx); !here {
			return err
		}
	}
	if j := t.job; j.invalid != nil || j.monitors {
		return j.invalid
	}
	if unknown, err := t.receive(ctx); err != nil {
		return err
	} else if unknown != "" {
		t.job.result.Status, t.job.result.Message = wire.Changed, unknown
		return nil
	}
	return t.tries(ctx)
}

// settle makes the result of a job that has had its turn, which ended with err.
func (t *turn) settle(ctx context.Context, err error) {
	j, r := t.job, t.run
	if j.restarting = errors.Is(err, modules.ErrRestarting) && context.Cause(ctx) != ErrKilled; j.restarting {
		t.release()
		return
	}
	if j.changed = err == nil && j.result.Status == wire.Changed; err == nil {
		t.serve()
		t.noteLeft()
		t.noteUndone()
		t.send(ctx)
	} else {
		r.refreshes.Fails(j.index)
		j.prediction.AsInList() // a pending change may provide the missing thing
		if j.prediction.Because.Any() {
			j.prediction.Because.Grade = modules.Unknown
		}
	}
	if j.prediction.Unrecorded() { // it may turn out to act after all, in an unknown way
		r.forecasts.record(j, j.prediction.Because.Ref, modules.Plan{Effects: j.mayChange()})
	}
	notAsked, err := t.askHealth(ctx, err)
	t.release()
	switch {
	case err == nil:
		j.prediction.Because = j.prediction.Because.Or(forecast.Doubt{Ref: notAsked, Grade: modules.Unknown})
	case ctx.Err() == nil && j.predicts() && j.prediction.Because.Any(): // it may be one only because nothing has been carried out
		j.prediction.Because.Grade = modules.Unknown
		j.result.openEnd(err, excerpt.Of(j.prediction.Because.Ref, maxText))
		j.changed, j.exports.unknown = true, true
	default:
		killed := context.Cause(ctx) == ErrKilled || errors.Is(err, ErrCut)
		j.result.fail(err, killed, (j.changed || isIncomplete(err)) && !j.predicts())
		j.result.Unknown = killed && t.began == modules.RunsOnce || errors.Is(err, errForgotten)
	}
	j.result.State = r.history.states.report(j.entry, t.said)
	r.history.states.predict(j.entry.Ref(), t.stateOpen())
	j.result.tell(t.said)
	if because := j.prediction.Because; j.predicts() && because.Any() {
		j.result.doubt(because)
		j.doubt = because
	}
	if t.register(); j.secret {
		j.result.withhold(err)
	}
}

// stateOpen reports whether predicted jobs cannot know the state of the job, since it would change first. In a check
// run, a noop job does not change.
func (t *turn) stateOpen() bool {
	j := t.job
	return j.changed && (j.mode == modePredict || j.mode == modeNoop && !t.run.cat.Check)
}

// serve records that the turn has ended well, for pending refreshes.
func (t *turn) serve() {
	switch j, refreshes := t.job, t.run.refreshes; {
	case j.entry.Monitor:
	case j.mode == modePredict:
		refreshes.Predict(j.index)
	case j.mode == modeApply:
		if err := refreshes.Serve(j.index, func(target int) bool { return t.run.jobs[target].changed }); err != nil {
			t.said.Message("warning", err.Error())
		}
	}
}
