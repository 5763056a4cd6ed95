package engine

import (
	"context"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
)

// check lets the resource compare itself with the host, and adds its refresh.
func (a *attempt) check(ctx context.Context) (err error) {
	t, r, j := a.turn, a.turn.run, a.turn.job
	if j.predicts() {
		a.seen = r.forecasts.host(ctx, j, t.said)
		a.seen.State = func(ref string) (modules.State, bool) { return r.history.states.then(ref, j.prediction) }
	} else {
		a.seen = r.real.present(t.said)
	}
	a.seen.Preload = r.preload(ctx, j)
	// A first look, before the first job, may have found what a second one would find.
	if stable := j.stableAt == 1+r.real.changes.Load(); j.predicts() || !stable {
		t.outside(func() { a.plan, err = modules.Compare(ctx, j.resource, a.seen) })
	}
	if err == nil {
		err = a.asLeft(ctx)
	}
	if err != nil {
		return err
	}
	a.own = a.plan.Pending()
	if err := a.refresh(ctx); err != nil {
		return err
	}
	if ran := j.entry.Ran; ran != "" && a.plan.Pending() && !a.plan.Refreshed && recurs(j.resource, a.plan) {
		t.said.Message("warning", "run "+ran+" ran it, and undo did not revert that; if it must run again, run it by hand")
		return modules.SkipError("not run again after an undo")
	}
	if r.engine.Forgotten && a.plan.Pending() && !a.plan.Refreshed && a.plan.Command == modules.RunsOnce && !j.entry.Rerun && !j.predicts() {
		return errForgotten
	}
	return nil
}

// refresh lets a type react to what an earlier run has left to do, or to the changed
// entries it subscribes to, and notes which.
func (a *attempt) refresh(ctx context.Context) error {
	r, j := a.turn.run, a.turn.job
	due, err := a.turn.refreshDue(&a.triggers)
	if err != nil {
		return err
	}
	if due == nil && len(a.triggers) == 0 {
		return nil
	}
	if text := r.jobs.needless(j, r.refreshes, due); text != "" {
		a.triggers = nil
		a.turn.said.Message(modules.LevelInfo, text)
		return nil
	}
	if err = a.refreshed(ctx); due != nil && a.plan.Refreshed {
		a.plan.Action += "; " + due.Why()
		if a.plan.LikelySucceeds { // the command may have failed in that run
			a.plan.MayFail = true
		}
	}
	return err
}

// refreshDue returns the refresh that an earlier run has left for the job, and adds the causes of its refresh to
// triggers. The change of a noop entry refreshes other noop entries only.
func (t *turn) refreshDue(triggers *[]string) (*notes.Refresh, error) {
	r, j := t.run, t.job
	due, err := r.refreshes.Due(j.index)
	if err != nil {
		return nil, err
	}
	if due != nil {
		if due.Changed != "" {
			*triggers = []string{due.Changed}
		}
		return due, nil
	}
	*triggers = j.entry.Refresh
	for _, i := range j.entry.Subscribe {
		target := r.jobs[i]
		if !j.sees(target) {
			continue
		}
		if len(*triggers) == 0 { // one certain trigger suffices
			j.prediction.Add(target.blamed())
		}
		if target.changed && len(*triggers) < modules.MaxParts {
			*triggers = append(*triggers, notes.Clip(target.entry.Ref(), maxText))
		}
	}
	return nil, nil
}

// refreshed makes the plan one that reacts to another entry.
func (a *attempt) refreshed(ctx context.Context) (err error) {
	refresher, ok := a.turn.job.resource.(modules.Refresher)
	if !ok {
		return fmt.Errorf("type %s has no refresh, so it cannot subscribe", a.turn.job.entry.Type)
	}
	a.turn.outside(func() { a.plan, err = refresher.Refresh(ctx, a.seen, a.plan) })
	return err
}

// opaque reports whether it is not known what a plan does.
func opaque(p modules.Plan) bool {
	for _, e := range p.Effects {
		if e.Anywhere() || e.Kind == modules.BelowEffect {
			return true
		}
	}
	return false
}
