package engine

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
)

// maxBatch bounds the members of a batch, and with them a command line.
const maxBatch = 100

// settled is what became of an entry that had its turn together with an earlier
// one: all that is left is to report it.
type settled struct {
	plan modules.Plan
	said *said
	err  error
}

// A member is an entry of a batch, with its plan and what its Check has told.
type member struct {
	index int
	modules.Planned
	said    *said
	claimed []string // what it has claimed; nil for the first, whose caller has claimed what it is about
}

// carryOut applies and verifies the plan of an entry, and at once those of its
// neighbours that can go with it.
func (r *run) carryOut(ctx context.Context, i int, plan modules.Plan, report *said) error {
	batch := r.batch(ctx, i, plan)
	defer func() {
		for _, m := range batch {
			r.scheduler.Unclaim(m.claimed)
		}
	}()
	indexes, planned := []int{}, []modules.Planned{}
	for _, m := range batch {
		indexes, planned = append(indexes, m.index), append(planned, m.Planned)
	}
	if len(batch) < 2 || r.refreshes.Announce(indexes...) != nil { // one alone may have nobody to announce it to
		return r.single(ctx, i, plan, report)
	}
	r.scheduler.Join(i, indexes[1:])
	before := map[int]*trace{}
	for _, m := range batch {
		before[m.index] = r.trace(m.index, m.Plan)
	}
	h := r.acting(report)
	// The error is of no use here: who is to blame is found out below.
	r.changing(func() { _ = r.resources[i].(modules.Batcher).ApplyBatch(ctx, h, planned) })
	err := r.settle(ctx, i, before[i], report)
	for _, m := range batch[1:] {
		j := m.index
		r.settled[j] = &settled{plan: m.Plan, said: m.said, err: r.settle(ctx, j, before[j], m.said)}
	}
	return err
}

// single announces, applies and verifies one plan.
func (r *run) single(ctx context.Context, i int, plan modules.Plan, report *said) error {
	if err := r.refreshes.Announce(i); err != nil {
		return err
	}
	before := r.trace(i, plan)
	err := r.apply(ctx, i, plan, report)
	if err != nil {
		r.retract(ctx, i, before, report)
	}
	return err
}

// batch collects the entry i and others that can go with it: nothing may decide
// about them that is not known yet.
func (r *run) batch(ctx context.Context, i int, plan modules.Plan) []member {
	first, ok := r.resources[i].(modules.Batcher)
	if !ok || r.failOnError(r.scopes.of[i]) || plan.Refreshed || ownTurn(&r.cat.Entries[i]) {
		return nil
	}
	key := first.BatchKey(plan)
	if key == "" {
		return nil
	}
	batch := []member{{index: i, Planned: modules.Planned{Resource: r.resources[i], Plan: plan}}}
	for _, j := range r.neighbours(i) {
		if len(batch) == maxBatch {
			break
		}
		told := new(said)
		seen := r.present(told)
		seen.Preload = r.preload(ctx, j, nil)
		since := r.scheduler.Clock()
		var next modules.Plan
		var err error
		r.outside(j, func() { next, err = r.resources[j].Check(ctx, seen) })
		goes := err == nil && next.Pending() && r.resources[j].(modules.Batcher).BatchKey(next) == key && !overlap(batch, next)
		var claimed []string
		if goes {
			claimed = r.things(next)
			goes = r.scheduler.TryClaim(claimed, since)
		}
		switch {
		case goes:
			batch = append(batch, member{j, modules.Planned{Resource: r.resources[j], Plan: next}, told, claimed})
		case r.scheduler == nil: // those behind it come behind it
			return batch
		}
	}
	return batch
}

// neighbours lists the entries that may go with i: those right behind it, or those
// that are ready to run while i does.
func (r *run) neighbours(i int) []int {
	if r.scheduler != nil {
		ready := r.scheduler.Ready(i)
		ready = slices.Clone(ready[:min(len(ready), 10*maxBatch)])
		return slices.DeleteFunc(ready, func(j int) bool { return !r.mayGoWith(i, j) })
	}
	var list []int
	for j := i + 1; j < len(r.cat.Entries) && len(list) < maxBatch && r.mayGoWith(i, j); j++ {
		list = append(list, j)
	}
	return list
}

// ownTurn reports whether an entry is worked on by itself whatever its type: it is
// tried again, waits, is asked, or has to do with what was there before.
func ownTurn(e *modules.Entry) bool {
	return e.Retry > 0 || e.Timeout > 0 || len(e.Sema) > 0 || len(e.Receive) > 0 || e.Query != "" || e.Hidden || e.Reverse || e.Left
}

// overlap reports whether a plan is about something that a member of the batch
// will have seen to: once it has, there may be nothing left to do.
func overlap(batch []member, plan modules.Plan) bool {
	touches := func(p modules.Plan, kind modules.EffectKind, key string) bool {
		return slices.ContainsFunc(p.Effects, func(e modules.Effect) bool { return e.Kind == kind && e.Key == key })
	}
	return slices.ContainsFunc(plan.Effects, func(e modules.Effect) bool {
		return e.Kind != modules.AnyEffect && slices.ContainsFunc(batch, func(m member) bool {
			return touches(m.Plan, e.Kind, e.Key)
		})
	})
}

// mayGoWith reports whether the entry j would be checked and applied whatever
// becomes of i and those between them.
func (r *run) mayGoWith(i, j int) bool {
	entry := &r.cat.Entries[j]
	if entry.Type != r.cat.Entries[i].Type || r.scopes.of[j] != r.scopes.of[i] || entry.Excluded || r.checked(j) || r.monitors(j) || r.errs[j] != nil || len(entry.Subscribe) > 0 || ownTurn(entry) || !r.shareable(i, j) {
		return false
	}
	if r.scheduler == nil && slices.ContainsFunc(entry.Require, func(k int) bool { return k >= i }) {
		return false
	}
	unmet, _ := r.requirements(j)
	return len(unmet) == 0
}

// shareable reports whether what a program says about two entries at once may be told
// of either: not, if one of them is sensitive and the other is not.
func (r *run) shareable(i, j int) bool {
	return r.secret(i) == r.secret(j)
}

// settle verifies a member of a batch that has been applied. What is not as it
// should be gets a turn of its own.
func (r *run) settle(ctx context.Context, i int, before *trace, report *said) error {
	var plan modules.Plan
	var err error
	r.outside(i, func() { plan, err = r.resources[i].Check(ctx, r.present(report)) })
	if err == nil && !plan.Pending() {
		return nil
	}
	if err == nil {
		err = r.apply(ctx, i, plan, report)
	}
	if err != nil {
		r.retract(ctx, i, before, report)
	}
	return err
}

// report tells what became of an entry that is settled.
func (r *run) report(i int, done *settled, result *modules.Result, p *forecast.Prediction) error {
	result.Status, result.Changes, result.Message = modules.Changed, done.plan.Changes, done.plan.Action
	if done.err == nil {
		r.record(i, r.cat.Entries[i].Ref(), done.plan, p)
	}
	return done.err
}
