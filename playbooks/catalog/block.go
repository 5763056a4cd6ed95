package catalog

import (
	"context"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/graph"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// block expands a block: the entries of its resources, and then its own, e. It returns the
// number of its own; -1 if it has none.
func (x *expansion) block(ctx context.Context, r *manifest.Resource, in *scope, env *templates.Env, e wire.Entry, o origin) int {
	before, first := len(x.errs), len(x.draft.entries)
	inner := *in
	inner.own = nil
	inner.env, inner.require, inner.watch = env, e.Require, o.watch
	inner.check, inner.sensitive, inner.monitor = e.Check, e.Sensitive, e.Monitor
	main, rescue, always := r.Block.Parts(r.Child.Resources)
	required := len(e.Require) > 0
	list := func(resources []*manifest.Resource, skipped bool) {
		inner.part = &part{block: true}
		from := len(x.draft.entries)
		x.results.sets.Enter(required || skipped, func() bool { return x.draft.mayFail(from) })
		x.list(ctx, resources, &inner)
		x.results.sets.Leave()
	}
	list(main, false)
	rescueFrom := len(x.draft.entries)
	list(rescue, true)
	alwaysFrom := len(x.draft.entries)
	list(always, false)
	x.results.part = in.part
	own := len(x.draft.entries)
	if len(x.errs) > before {
		x.draft.names.unknown(e.Type, e.Name, e.Alias)
		return -1
	}
	if own == first && (r.OnlyWithin || r.Unselected) {
		x.leaveOut(r)
		return -1
	}
	if x.inGraph {
		x.inTurn(first, rescueFrom, alwaysFrom, "rescue")
		x.inTurn(first, alwaysFrom, own, "always")
	}
	e.Scope = &wire.Scope{Entries: own - first, Block: &wire.Block{Rescue: alwaysFrom - rescueFrom, Always: own - alwaysFrom}}
	return x.add(e, o, in.shown(r, env))
}

// inTurn orders the entries of a part of a block, from begin to before end, after the entries of the earlier parts,
// which begin with first.
func (x *expansion) inTurn(first, begin, end int, part string) {
	earlier, own := x.direct(first, begin), x.direct(begin, end)
	for _, to := range own {
		for _, from := range earlier {
			x.draft.turns = append(x.draft.turns, graph.Edge{From: from, To: to, Kind: graph.Part, Why: part})
		}
	}
}

// direct returns the entries of a range, except entries that another entry of the range represents.
func (x *expansion) direct(first, end int) (all []int) {
	for i := end - 1; i >= first; i-- {
		all = append(all, i)
		i = graph.FirstWithin(x.draft.entries, i)
	}
	return all
}
