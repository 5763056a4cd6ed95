package engine

import (
	"context"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
)

// check lets the resource compare itself with the host, and react to what has refreshed
// it.
func (j *job) check(ctx context.Context) (found finding, err error) {
	if found.seen = j.run.present(j.said); j.predicts() {
		found.seen = j.forecast().Host(ctx, j.view(), j.prediction, j.said)
		found.seen.State = j.stateThen
	}
	found.seen.Preload = j.preload(ctx)
	if j.predicts() || !j.stillStable() {
		j.outside(func() { found.plan, err = j.resource.Check(ctx, found.seen) })
	}
	if err == nil {
		err = j.refresh(ctx, &found)
	}
	return found, err
}

// stillStable reports whether a first look, before the first job, has found the resource
// as it shall be, and a second one would find the same.
func (j *job) stillStable() bool { return j.stable && j.stableAt == j.run.changes.Load() }

// refresh lets a type react to what an earlier run has left to do, or to the changed
// entries it subscribes to, and notes which. The change of a noop entry is none, except
// for other noop entries.
func (j *job) refresh(ctx context.Context, found *finding) error {
	j.triggers = nil
	due, err := j.run.refreshes.Due(j.index)
	if err != nil {
		return err
	}
	if due != nil {
		if due.Changed != "" {
			j.triggers = []string{due.Changed}
		}
		err := j.refreshed(ctx, found)
		if found.plan.Refreshed {
			found.plan.Action += "; " + due.Why()
		}
		return err
	}
	for _, i := range j.entry.Subscribe {
		target := j.run.jobs[i]
		if !j.sees(target) {
			continue
		}
		if target.doubt != "" && len(j.triggers) == 0 { // one that is certain is enough
			j.prediction.Doubt(target.blamed())
		}
		if target.changed && len(j.triggers) < modules.MaxParts {
			j.triggers = append(j.triggers, notes.Clip(target.entry.Ref(), maxText))
		}
	}
	if len(j.triggers) == 0 {
		return nil
	}
	return j.refreshed(ctx, found)
}

// refreshed makes the plan one that reacts to another entry.
func (j *job) refreshed(ctx context.Context, found *finding) (err error) {
	refresher, ok := j.resource.(modules.Refresher)
	if !ok {
		return fmt.Errorf("type %s has no refresh, so it cannot subscribe", j.entry.Type)
	}
	j.outside(func() { found.plan, err = refresher.Refresh(ctx, found.seen, found.plan) })
	return err
}

// forecast is what the job is checked against, if it is predicted.
func (j *job) forecast() *forecast.Forecast { return j.run.forecasts.For(j.mode == modeNoop) }

// record adds a plan to the forecasts. because is what predictions that rest on the plan
// depend on.
func (j *job) record(because string, plan modules.Plan) {
	j.prediction.Recorded()
	j.run.forecasts.Record(forecast.Plan{
		Entry: j.index, Ref: because, Effects: plan.Effects, Doubt: j.prediction.Because,
		Noop: j.mode == modeNoop, Applied: !j.predicts(),
	})
}

// opaque reports whether it is not known what a plan does.
func opaque(p modules.Plan) bool {
	for _, e := range p.Effects {
		if e.Kind == modules.AnyEffect || e.Kind == modules.BelowEffect {
			return true
		}
	}
	return false
}
