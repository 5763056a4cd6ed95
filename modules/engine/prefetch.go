package engine

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// prefetch looks at the host before the first job, and requests the contents that Apply will open, as far as they are
// known.
func (r *run) prefetch(ctx context.Context) error {
	var wanted []modules.Content
	for _, j := range r.jobs {
		if r.later(j) {
			break
		}
		wanted = append(wanted, j.wants(ctx, r.real)...)
	}
	if len(wanted) == 0 || r.engine.Prefetch == nil {
		return nil
	}
	return r.engine.Prefetch(ctx, wanted)
}

// wants returns the contents that the job will open, and records whether the job is stable.
func (j *job) wants(ctx context.Context, real *realHost) []modules.Content {
	if j.finished != nil || j.resource == nil || j.invalid != nil || j.monitors || j.predicts() && !j.diffs() || j.scope.idle() {
		return nil
	}
	lacking := modules.MissingContents(j.resource)
	if len(lacking) == 0 {
		return nil
	}
	told := &said{}
	plan, err := modules.Compare(ctx, j.resource, real.present(told))
	switch {
	case err != nil && j.predicts():
		return nil
	case err != nil:
		// Most likely a requirement, such as its directory, is missing. Requesting later would cost a round trip for
		// each.
		return slices.DeleteFunc(lacking, modules.Content.Promised)
	case plan.Pending():
		return j.opens(plan)
	case len(told.list()) == 0 && told.exit == nil:
		j.stableAt = 1 + real.changes.Load()
	}
	return nil
}

// opens lists what the engine will open for a plan that is not here yet.
func (j *job) opens(plan modules.Plan) []modules.Content {
	var list []modules.Content
	if !j.predicts() {
		list = plan.Needs
	}
	if j.diffs() {
		list = slices.Clip(list)
		for _, t := range plan.Texts {
			list = append(list, t.Want)
		}
	}
	var remote []modules.Content
	for _, c := range list {
		if _, here := c.Bytes(); !here && !c.IsZero() {
			remote = append(remote, c)
		}
	}
	return remote
}
