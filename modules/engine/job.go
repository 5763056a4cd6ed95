package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// A job is one entry of a catalog on its way to its result.
type job struct {
	run    *run
	index  int
	entry  *modules.Entry
	mode   mode
	scope  *scope          // the manifest that it belongs to
	nested *scope          // the manifest that it stands for; nil if it has a resource
	wanted map[string]bool // keys of values that others want of it, without what leads into those
	secret bool            // nothing of what it holds may be shown

	resource modules.Resource // nil if it has none, or not yet
	invalid  error            // why its properties make no resource
	stable   bool             // it was found as it shall be before the first job began
	stableAt int64            // the run's count of changes then: as long as that stays, it is so still

	said       *said
	prediction *forecast.Prediction
	result     *modules.Result
	joint      *joint // what became of it in the turn of an earlier job; nil if it has its own
	free       func() // gives its semaphores back; nil if it holds none

	// What later jobs need to know:
	status     modules.Status             // once it has its result
	changed    bool                       // or would change, whatever became of it later
	unmet      bool                       // skipped for a requirement
	doubt      string                     // what its prediction depends on
	triggers   []string                   // the entries it was refreshed by
	sent       map[string]json.RawMessage // values for others
	unsent     error                      // why a value is not among those
	unknown    bool                       // others are sent once it is applied
	properties json.RawMessage            // with what it has received
}

// A mode is what is done about a job.
type mode int

const (
	modeApply   mode = iota // it is carried out
	modePredict             // it is predicted, in a check run: jobs behind it see the host as it would be then
	modeNoop                // it is never carried out: only other noop jobs see the host as it would be then
)

// predicts reports whether the job is only predicted.
func (j *job) predicts() bool { return j.mode != modeApply }

// monitors reports whether only the health checks of the job run.
func (j *job) monitors() bool { return j.run.cat.Monitor || j.entry.Monitor }

// diffs reports whether the result shows what changes in texts.
func (j *job) diffs() bool { return j.run.cat.Diff && !j.secret }

// sees reports whether what another job changes, or would change, counts for this one.
func (j *job) sees(other *job) bool { return other.mode != modeNoop || j.mode == modeNoop }

// stateOpen reports whether its state is not known to those that are predicted, since it
// would be changed first. In a check run, a noop job is none that would.
func (j *job) stateOpen() bool {
	return j.changed && (j.mode == modePredict || j.mode == modeNoop && !j.run.cat.Check)
}

// decode makes the resource of the job, and tells it if nothing of it may be shown, or
// if it undoes another one.
func (j *job) decode(entry *modules.Entry) {
	j.resource, j.invalid = j.run.engine.Decode(entry)
	if d, ok := j.resource.(modules.Discreet); ok && j.secret {
		d.Discreet()
	}
	if u, ok := j.resource.(modules.Undoer); ok && entry.Left {
		u.Undo()
	}
}

// work brings the job to its result. It reports false if the run is to end before its turn
// has come.
func (j *job) work(ctx context.Context) bool {
	j.result = &modules.Result{Index: j.index}
	switch unmet, doubt := j.requirements(); {
	case j.entry.Excluded:
		j.skip("excluded by control", "")
	case j.entry.Hidden:
		j.skip("hidden: defined, not run", "")
	case j.joint == nil && j.scope.ended() != "":
		j.leaveOut()
	case len(unmet) > 0:
		j.unmet = true
		j.skip("skipped due to unmet requirement", strings.Join(unmet, ", "))
	default:
		j.said, j.prediction = &said{}, &forecast.Prediction{Because: doubt}
		if j.run.mayConflict() && !j.entry.Left { // what has left comes after everything
			j.prediction.Reads = forecast.NewReadSet()
		}
		err := j.turn(ctx)
		if err == ErrBeforeTurn && j.scope.ended() == "" {
			return false
		}
		if err == ErrBeforeTurn {
			j.release()
			j.leaveOut()
			break
		}
		j.settle(ctx, err)
	}
	if ref := j.scope.mayBeEndedBy(); j.result.Status == modules.Skipped && j.predicts() && ref != "" {
		j.result.Uncertain, j.result.Because = true, cmp.Or(j.result.Because, ref) // the run may have ended before
	}
	j.status = j.result.Status
	if j.doubt != "" {
		j.scope.doubtful = cmp.Or(j.scope.doubtful, j.blamed())
	}
	return true
}

func (j *job) skip(message, because string) {
	j.result.Status, j.result.Message, j.result.Because = modules.Skipped, message, excerpt.Of(because, maxText)
}

// leaveOut is the result of a job whose manifest a failure has ended.
func (j *job) leaveOut() {
	j.unmet = true
	j.skip("skipped because its manifest has fail_on_error", j.scope.ended())
}

// turn does the work of the job, up to its health checks.
func (j *job) turn(ctx context.Context) error {
	switch {
	case j.joint != nil:
		return j.reportJoint()
	case j.nested != nil:
		return j.sumUp()
	case j.invalid != nil || j.monitors():
		return j.invalid
	}
	return j.tries(ctx)
}

// settle makes the result of a job that has had its turn, which ended with err.
func (j *job) settle(ctx context.Context, err error) {
	if j.changed = err == nil && j.result.Status == modules.Changed; err == nil {
		j.serve()
		j.send(ctx)
	} else {
		j.run.refreshes.Fails(j.index)
		j.prediction.AsInList() // what is missing may come with anything
	}
	if j.prediction.Unrecorded() { // it may turn out to act after all, in an unknown way
		j.record(j.prediction.Because, modules.Plan{Effects: []modules.Effect{modules.Anything}})
	}
	notAsked, err := j.askHealth(ctx, err)
	j.release()
	switch {
	case err == nil:
		j.prediction.Because = cmp.Or(j.prediction.Because, notAsked)
	case ctx.Err() == nil && j.mayNotFail():
		j.openEnd(err)
	default:
		j.fail(ctx, err)
	}
	j.tellState()
	j.run.history.states.predict(j.entry.Ref(), j.stateOpen())
	j.result.Messages, j.result.Exit, j.result.Changes = j.said.list(), j.said.exit, bounded(j.result.Changes)
	if because := j.prediction.Because; j.predicts() && because != "" {
		j.result.Uncertain, j.result.Because, j.doubt = true, because, because
	}
	if j.secret {
		withhold(j.result, err)
	}
}

// fail is the result of a job that has failed.
func (j *job) fail(ctx context.Context, err error) {
	j.result.Killed = context.Cause(ctx) == ErrKilled
	j.result.Status, j.result.Error, j.result.Sent = modules.Failed, excerpt.Of(err.Error(), maxText), nil
	if j.result.Done = j.changed && !j.predicts(); !j.result.Done {
		j.result.Message = ""
	}
	if kinded, ok := errors.AsType[modules.Kinded](err); ok && j.result.Error != "" {
		j.result.ErrorKind = kinded.Kind()
	}
}

// mayNotFail reports whether an error of a check run may be one only because earlier
// resources have not been carried out.
func (j *job) mayNotFail() bool { return j.predicts() && j.prediction.Because != "" }

// openEnd is the result of a job that may not fail: a change that is uncertain, since
// something will have to happen here.
func (j *job) openEnd(err error) {
	j.result.Status, j.result.Message, j.result.Sent = modules.Changed, unpredictable(err, excerpt.Of(err.Error(), maxText)), nil
	j.changed, j.unknown = true, true
}

// requirements finds the required entries that rule this one out, and what
// makes it uncertain that they do not.
func (j *job) requirements() (unmet []string, doubt string) {
	for i := range schedule.Requirements(j.entry) {
		other := j.run.jobs[i]
		if ref := other.entry.Ref(); (other.status == modules.Failed || other.unmet) && !slices.Contains(unmet, ref) {
			unmet = append(unmet, ref)
		}
		if other.doubt != "" && doubt == "" {
			doubt = other.blamed()
		}
	}
	return unmet, cmp.Or(doubt, j.scope.mayBeEndedBy())
}

// blamed names what those depend on that depend on this job, which is in doubt: itself if
// it would change something, or else what has put it in doubt.
func (j *job) blamed() string {
	if j.status != modules.Changed {
		return j.doubt
	}
	return j.entry.Ref()
}

// outside has f work on the host for the job, while others touch the run. What is
// only predicted is about the forecast, which they touch too.
func (j *job) outside(f func()) {
	if j.predicts() {
		f()
		return
	}
	j.run.scheduler.Outside(f)
}
