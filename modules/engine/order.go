package engine

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
)

// atOnce works on as many entries at once as the catalog says.
func (r *run) atOnce(ctx context.Context) (stopped bool, err error) {
	r.scheduler = schedule.New(r.cat.Entries, schedule.Work{
		Parallel: r.cat.Parallel,
		Alone: func(i int) bool {
			_, batches := r.resources[i].(modules.Batcher)
			return batches
		},
		Turn:        func(i int) (began bool, err error) { return r.step(ctx, i) },
		Interrupted: func() bool { return r.interrupted(ctx) },
	})
	return r.scheduler.Run()
}

// outside has f work on the host for the entry i, while others touch the run. What is
// only predicted is about the forecast, which they touch too.
func (r *run) outside(i int, f func()) {
	if r.checked(i) {
		f()
		return
	}
	r.scheduler.Outside(f)
}

// graph reports whether doubt follows edges. In a play that is a graph, its author has said
// what depends on what. A check run takes that at its word: what nobody knows of one entry
// puts those in doubt that come after it along edges, and no others. What it does not take
// for granted is in package forecast.
func (r *run) graph() bool {
	return r.cat.Parallel > 0 && len(r.cat.Entries) <= schedule.MaxGraph
}

// before gives the entries that i comes after.
func (r *run) before(i int) schedule.Set {
	if r.ancestors == nil {
		r.ancestors = schedule.FindAncestors(r.cat.Entries)
	}
	return r.ancestors[i]
}

// view is what the entry i comes after, of all that is planned. What has left the
// manifest comes after everything.
func (r *run) view(i int) forecast.View {
	f := r.forecast(i)
	if f.Pending() == "" || !r.graph() || r.cat.Entries[i].Left {
		return f.Everything()
	}
	return f.Behind(r.before(i).Has)
}

// things gives what a plan is about, for others that are worked on at once. User and group
// databases are files that are read, changed and written as a whole. A path stands for what
// it leads to, too: it can have other names, by links.
func (r *run) things(plan modules.Plan) []string {
	if r.scheduler == nil {
		return nil
	}
	var keys []string
	for _, e := range plan.Effects {
		switch e.Kind {
		case modules.AnyEffect, modules.BelowEffect:
		case modules.UserEffect, modules.GroupEffect:
			keys = append(keys, "accounts")
		case modules.PathEffect:
			keys = append(keys, r.forecasts.Will.Canonical(e.Key, false), r.forecasts.Will.Canonical(e.Key, true))
		default:
			keys = append(keys, string(e.Kind)+" "+e.Key)
		}
	}
	return keys
}
