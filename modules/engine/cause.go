package engine

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// cause returns why the plan is due, from the notes of the last run; "" without readable notes. A change for the
// manifest invalidates the notes of earlier runs, so cause updates the notes before the change.
func (a *attempt) cause() wire.Cause {
	t, r, j := a.turn, a.turn.run, a.turn.job
	if r.engine.Applied == nil {
		return ""
	}
	t.openApplied()
	switch {
	case a.plan.Refreshed && !a.own:
		return wire.Notified
	case !r.applied.Known():
		return ""
	case !j.entry.Reversal && r.applied.LeftSo(j.entry, t.resolved()):
		if a.recurs() || r.followsIntent(j, a.plan) {
			return wire.Intent
		}
		return wire.Drift
	}
	if !j.predicts() {
		if err := r.applied.Supersede(j.entry, t.resolved()); err != nil {
			t.said.Message("warning", "a later run may take for drift what the manifest has changed, since this could not be noted: "+err.Error())
		}
	}
	if j.undone != nil {
		return wire.Undone
	}
	r.intends(j)
	return wire.Intent
}

// openApplied reads the notes, if that has not been tried yet.
func (t *turn) openApplied() {
	if err := t.run.applied.Open(); err != nil {
		t.said.Message("warning", err.Error())
	}
}

// resolved returns the properties of the job, with its received values.
func (t *turn) resolved() json.RawMessage {
	if t.properties != nil {
		return t.properties
	}
	return t.job.entry.Properties
}

// recurs reports whether the plan may be due although nothing has changed.
func (a *attempt) recurs() bool { return recurs(a.turn.job.resource, a.plan) }

func recurs(res modules.Resource, plan modules.Plan) bool {
	of, ok := res.(modules.Recurrer)
	return ok && of.Recurs(plan)
}

// intends notes that the job is changed since the manifest has changed.
func (r *run) intends(j *job) {
	j.intent = true
	if j.mode != modeNoop {
		r.history.intent = true
	}
}

// followsIntent reports whether a plan without a comparable state, such as a command whose guards let it run, may be
// due because of an earlier change of the manifest: guards may read anything.
func (r *run) followsIntent(j *job, plan modules.Plan) bool {
	if len(plan.Changes) > 0 {
		return false
	}
	return r.earlierIntent || slices.ContainsFunc(r.jobs[:j.index], func(other *job) bool {
		return other.intent && j.sees(other) && (!r.order.IsGraph() || r.order.ComesAfter(j.index, other.index))
	})
}

// noteLeft records that the turn has ended well, so its resource has the desired state. Predictions are not recorded.
func (t *turn) noteLeft() {
	j, r := t.job, t.run
	status := cmp.Or(j.result.Status, wire.Stable)
	if r.engine.Applied == nil || j.predicts() || j.monitors || j.resource == nil || j.entry.Reversal ||
		status != wire.Stable && status != wire.Changed {
		return
	}
	t.openApplied()
	r.applied.Left(j.index, t.resolved())
}

// recallCause restores the cause of a job that had its turn before its connection was lost, for other jobs. It records
// the resource as left again, unless the job received values.
func (r *run) recallCause(j *job) {
	result := j.finished.Result
	if result.Cause == wire.Intent && !recurs(j.resource, modules.Plan{Changes: result.Changes}) {
		r.intends(j)
	}
	if len(j.entry.Receive) == 0 {
		t := r.newTurn(j)
		t.noteLeft()
	}
}
