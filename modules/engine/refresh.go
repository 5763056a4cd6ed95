package engine

import (
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
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

// Several resources can refresh one thing: a service, and events that restart and reload it. Each refresh happens at its
// place in the order, with two exceptions:
//   - a refresh is needless if the thing was restarted, or equally refreshed, after everything that the refresh is for;
//   - a reload is needless if a later resource of the run is already due to restart the thing. If that restart does not
//     happen, the host has a note that it is due.

// needless returns the message about a refresh of a job that another job makes needless; "" if the refresh is needed. In a
// check run it adds the doubt about that. due is the refresh that an earlier run has left, or nil.
func (all jobs) needless(j *job, refreshes *notes.Refreshes, due *notes.Refresh) string {
	m, ok := j.resource.(modules.Merger)
	if !ok {
		return ""
	}
	if due != nil && due.Action == modules.ActionRestart && m.RefreshAction() == modules.ActionReload {
		m.SetRefreshAction(due.Action) // the manifest has changed; the change that is due needs a restart
	}
	action := m.RefreshAction()
	if !modules.Serves(action, action) {
		return ""
	}
	for _, other := range all {
		of, ok := other.resource.(modules.Merger)
		if !ok || other == j || !j.sees(other) || of.Subject() != m.Subject() {
			continue
		}
		done, doubt := other.acted.serves, other.blamed()
		switch {
		case other.status != "" && modules.Serves(done, action) && all.endedBefore(j, other):
		case other.status != "" || other.acted.began > 0:
			if !other.changed && modules.Serves(of.RefreshAction(), action) && len(other.entry.Subscribe) > 0 {
				j.prediction.Add(doubt) // it may refresh the thing after all
			}
			continue
		case action == modules.ActionReload && of.RefreshAction() == modules.ActionRestart:
			var will bool
			if will, doubt = all.isDue(other, refreshes); !will {
				j.prediction.Add(doubt)
				continue
			}
			done = modules.ActionRestart
		default:
			continue
		}
		j.prediction.Add(doubt)
		return fmt.Sprintf("not %sed, because %s %ss it in this run", action, other.entry.Ref(), done)
	}
	return ""
}

// endedBefore reports whether everything that refreshes a job had ended before another job acted.
func (all jobs) endedBefore(j, other *job) bool {
	for _, i := range j.entry.Subscribe {
		if target := all[i]; j.sees(target) && target.changed && target.acted.ended >= other.acted.began {
			return false
		}
	}
	return true
}

// isDue reports whether a job that has not had its turn is due to be refreshed. doubt names a job that may still refresh
// it.
func (all jobs) isDue(j *job, refreshes *notes.Refreshes) (is bool, doubt forecast.Doubt) {
	e := j.entry
	unmet, _ := all.requirements(j)
	if e.Excluded || e.Hidden || e.Unselected == wire.RefreshLater || j.monitors || j.invalid != nil || len(unmet) > 0 || j.scope.idle() || j.scope.ended() != "" {
		return false, doubt
	}
	if due, err := refreshes.Due(j.index); err == nil && due != nil || len(e.Refresh) > 0 {
		return true, doubt
	}
	for _, i := range e.Subscribe {
		target := all[i]
		switch {
		case !j.sees(target) || target.status == "":
		case target.changed:
			return true, target.blamed()
		default:
			doubt = doubt.Or(target.blamed())
		}
	}
	return false, doubt
}

// acted describes the part of a job's turn that other refreshes of the same thing need.
type acted struct {
	serves       string // action of its plan, see [modules.Serves]; "" if it did not act
	began, ended clock  // when it began to act, and when it had its result
}

// A clock counts the beginnings and ends of a run.
type clock int64

// next returns the time after now, which is now from then on.
func (c *clock) next() clock {
	*c++
	return *c
}
