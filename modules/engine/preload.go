package engine

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// preload returns the Preload of the Host that a job is checked with; nil if its type has no data.
func (r *run) preload(ctx context.Context, j *job) func(modules.EffectKind) any {
	if _, ok := j.resource.(modules.Preloader); !ok {
		return nil
	}
	of := r.real.preloads.of(j.entry.Type)
	switch {
	case r.real.scheduler.Changing():
		return nil // parallel jobs may change it at any moment
	case of.singly:
		of.singly = false
		return nil
	case !of.asked:
		of.asked = true
		drops := of.drops
		if answer := r.askAhead(ctx, j); of.drops == drops {
			of.answer = answer
		}
	}
	if of.answer == nil {
		return nil
	}
	answer := of.answer
	return func(reads modules.EffectKind) any {
		if j.predicts() {
			r.forecasts.probed(j, reads)
		}
		return answer
	}
}

// askAhead lets the type of a job query the host for the job and the later ones of the type. A single job queries
// alone. Errors are ignored here: the jobs concerned report them.
func (r *run) askAhead(ctx context.Context, j *job) (answer any) {
	var all []modules.Resource
	for _, next := range r.jobs[j.index:] {
		if next.entry.Type == j.entry.Type && next.resource != nil && next.invalid == nil && next.joint == nil && next.secret == j.secret {
			all = append(all, next.resource)
		}
	}
	if len(all) < 2 {
		return nil
	}
	r.outside(j, func() {
		var err error
		h := r.real.present(modules.Discard{})
		h.CheckRun = j.predicts()
		if answer, err = j.resource.(modules.Preloader).Preload(ctx, h, all); err != nil {
			answer = nil
		}
	})
	return answer
}
