package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// A trace is how the host looks to a plan before it is carried out, so that it can
// be told afterwards whether anything has happened. nil tells nothing.
type trace struct {
	plan  modules.Plan
	paths []string
}

// trace looks at what an entry is about to change, if anybody waits for that.
func (r *run) trace(i int, plan modules.Plan) *trace {
	if !r.refreshes.Awaited(i) || opaque(plan) || len(plan.Changes) == 0 {
		return nil
	}
	t := &trace{plan: plan}
	r.outside(i, func() { t.paths = r.paths(plan) })
	return t
}

// paths describes all that is at the paths that a plan has effects on.
func (r *run) paths(plan modules.Plan) []string {
	var all []string
	for _, e := range plan.Effects {
		if e.Kind != modules.PathEffect {
			continue
		}
		info, err := r.Host.Files.Stat(e.Key)
		digest := ""
		if err == nil && info.Kind == modules.Regular {
			digest, err = r.Host.Files.Digest(e.Key)
		}
		all = append(all, fmt.Sprintln(e.Key, info, digest, err))
	}
	return all
}

// retract takes back what was announced for an entry that has failed, if the host
// is provably as it was before. Otherwise it notes the failure.
func (r *run) retract(ctx context.Context, i int, before *trace, report modules.Reporter) {
	untouched := func() bool { return r.untouched(ctx, i, before) }
	if err := r.refreshes.Retract(i, untouched); err != nil {
		report.Message("warning", fmt.Sprintf("the next run may refresh more than needed: %v", err))
	}
}

// untouched reports whether the host is as it was before an entry failed.
func (r *run) untouched(ctx context.Context, i int, before *trace) (same bool) {
	if before == nil {
		return false
	}
	r.outside(i, func() {
		plan, err := r.resources[i].Check(ctx, r.present(modules.Discard{}))
		same = err == nil && plan.Action == before.plan.Action && slices.Equal(plan.Changes, before.plan.Changes) &&
			slices.Equal(r.paths(plan), before.paths)
	})
	return same
}
