package engine

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A run of a part of a manifest has entries that it does not select. They are in the catalog because others,
// which the run does select, may refresh them. No refresh is lost: it happens in this run, or it stays noted
// on the host until a run selects the entry.

// left reports whether nothing happened to a job that the run does not select.
func (j *job) left() bool {
	return j.entry.Unselected != "" && j.status == wire.Skipped && j.result.Message == ""
}

// trigger returns the changed job that refreshes an unselected one, or nil. doubt names a job that may still change.
func (r *run) trigger(j *job) (by *job, doubt forecast.Doubt) {
	if j.entry.Excluded || j.entry.Hidden {
		return nil, forecast.Doubt{}
	}
	for _, i := range j.entry.Subscribe {
		switch target := r.jobs[i]; {
		case !j.sees(target):
		case target.changed:
			return target, forecast.Doubt{}
		default:
			doubt = doubt.Or(target.blamed())
		}
	}
	return nil, doubt
}

// refreshesNow reports whether a job that the run does not select has its turn all the same. A manifest or
// block has it with the first of its jobs.
func (r *run) refreshesNow(j *job) bool {
	if j.nested != nil {
		for _, member := range j.nested.all() {
			if !member.left() {
				return true
			}
		}
		return false
	}
	by, _ := r.trigger(j)
	return by != nil && j.entry.Unselected == wire.RefreshNow
}

// leaveUnselected sets the result of a job that the run does not select. The result names a refresh that stays
// due; in a check run, one that would stay due.
func (r *run) leaveUnselected(j *job) {
	j.result.skip(wire.SkippedNotSelected, "", "")
	by, doubt := r.trigger(j)
	switch due, err := r.refreshes.Due(j.index); {
	case by != nil && !j.monitors && j.predicts():
		j.result.skip(wire.SkippedNotSelected, "not selected: "+j.entry.Ref()+" would be due", by.entry.Ref())
	case by != nil && !j.monitors:
		j.result.skip(wire.SkippedNotSelected, "not selected: "+j.entry.Ref()+" is due", by.entry.Ref())
	case err == nil && due != nil:
		j.result.skip(wire.SkippedNotSelected, "not selected: "+j.entry.Ref()+" is due", due.Changed)
	case doubt.Any() && j.predicts() && j.entry.Unselected == wire.RefreshNow && j.nested == nil:
		j.result.doubt(doubt)
		j.doubt = doubt
		j.prediction = &forecast.Prediction{Because: doubt}
		r.forecasts.record(j, doubt.Ref, modules.Plan{Effects: j.mayChange()})
	}
}
