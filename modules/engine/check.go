package engine

import (
	"context"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
)

// check lets the resource compare itself with the host, and react to what has refreshed
// it.
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
	if stable := j.stable && j.stableAt == r.real.changes.Load(); j.predicts() || !stable {
		t.outside(func() { a.plan, err = j.resource.Check(ctx, a.seen) })
	}
	if err == nil {
		err = a.asLeft(ctx)
	}
	if err != nil {
		return err
	}
	a.own = a.plan.Pending()
	return a.refresh(ctx)
}

// refresh lets a type react to what an earlier run has left to do, or to the changed
// entries it subscribes to, and notes which. The change of a noop entry is none, except
// for other noop entries.
func (a *attempt) refresh(ctx context.Context) error {
	r, j := a.turn.run, a.turn.job
	due, err := r.refreshes.Due(j.index)
	if err != nil {
		return err
	}
	if due != nil {
		if due.Changed != "" {
			a.triggers = []string{due.Changed}
		}
		err := a.refreshed(ctx)
		if a.plan.Refreshed {
			a.plan.Action += "; " + due.Why()
		}
		return err
	}
	for _, i := range j.entry.Subscribe {
		target := r.jobs[i]
		if !j.sees(target) {
			continue
		}
		if target.doubt != "" && len(a.triggers) == 0 { // one that is certain is enough
			j.prediction.Doubt(target.blamed())
		}
		if target.changed && len(a.triggers) < modules.MaxParts {
			a.triggers = append(a.triggers, notes.Clip(target.entry.Ref(), maxText))
		}
	}
	if len(a.triggers) == 0 {
		return nil
	}
	return a.refreshed(ctx)
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
		if e.Kind == modules.AnyEffect || e.Kind == modules.BelowEffect {
			return true
		}
	}
	return false
}
