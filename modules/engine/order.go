package engine

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
)

// graph reports whether doubt follows edges. In a play that is a graph, its author has said
// what depends on what. A check run takes that at its word: what is not known of one entry
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

// comesAfter reports whether the entry i begins after k has ended.
func (r *run) comesAfter(i, k int) bool { return k < i && r.before(i).Has(k) }

// view is what the job comes after, of all that is planned. What has left the
// manifest comes after everything.
func (j *job) view() forecast.View {
	f := j.forecast()
	if f.Pending() == "" || !j.run.graph() || j.entry.Left {
		return f.Everything()
	}
	return f.Behind(j.run.before(j.index).Has)
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
