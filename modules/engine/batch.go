package engine

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// maxBatch bounds the members of a batch, and with them a command line.
const maxBatch = 100

// settled is what became of an entry that had its turn together with an earlier
// one: all that is left is to report it.
type settled struct {
	plan  modules.Plan
	notes *notes
	err   error
}

// carryOut applies and verifies the plan of an entry, and at once those of its
// neighbours that can go with it.
func (r *run) carryOut(ctx context.Context, i int, plan modules.Plan, report *notes) error {
	batch := r.batch(ctx, i, plan)
	end := i + len(batch)
	if len(batch) < 2 || r.ledger.announce(i, end) != nil { // one alone may have nobody to announce it to
		return r.single(ctx, i, plan, report)
	}
	before := map[int]*trace{}
	for j := i; j < end; j++ {
		before[j] = r.trace(j, batch[j-i].Plan)
	}
	h := r.acting(report)
	r.aboutToChange()
	// The error is of no use here: who is to blame is found out below.
	_ = r.resources[i].(modules.Batcher).ApplyBatch(ctx, h, batch)
	err := r.settle(ctx, i, before[i], report)
	for j := i + 1; j < end; j++ {
		notes := new(notes)
		r.settled[j] = &settled{plan: batch[j-i].Plan, notes: notes, err: r.settle(ctx, j, before[j], notes)}
	}
	return err
}

// single announces, applies and verifies one plan.
func (r *run) single(ctx context.Context, i int, plan modules.Plan, report *notes) error {
	if err := r.ledger.announce(i, i+1); err != nil {
		return err
	}
	before := r.trace(i, plan)
	err := r.apply(ctx, i, plan, report)
	if err != nil {
		r.retract(ctx, i, before, report)
	}
	return err
}

// batch collects the entry i and those that follow it, as long as they can go
// with it: nothing may decide about them that is not known yet.
func (r *run) batch(ctx context.Context, i int, plan modules.Plan) []modules.Planned {
	first, ok := r.resources[i].(modules.Batcher)
	if !ok || r.failOnError(r.scopes.of[i]) || plan.Refreshed {
		return nil
	}
	key := first.BatchKey(plan)
	batch := []modules.Planned{{Resource: r.resources[i], Plan: plan}}
	for j := i + 1; key != "" && j < len(r.cat.Entries) && len(batch) < maxBatch && r.mayGoWith(i, j); j++ {
		seen := r.present(modules.Discard{})
		seen.Preload = r.preload(ctx, j, nil)
		next, err := r.resources[j].Check(ctx, seen)
		if err != nil || !next.Pending() || r.resources[j].(modules.Batcher).BatchKey(next) != key || overlap(batch, next) {
			break
		}
		batch = append(batch, modules.Planned{Resource: r.resources[j], Plan: next})
	}
	return batch
}

// overlap reports whether a plan is about something that a member of the batch
// will have seen to: once it has, there may be nothing left to do.
func overlap(batch []modules.Planned, plan modules.Plan) bool {
	touches := func(p modules.Plan, kind modules.EffectKind, key string) bool {
		return slices.ContainsFunc(p.Effects, func(e modules.Effect) bool { return e.Kind == kind && e.Key == key })
	}
	return slices.ContainsFunc(plan.Effects, func(e modules.Effect) bool {
		return e.Kind != modules.AnyEffect && slices.ContainsFunc(batch, func(m modules.Planned) bool {
			return touches(m.Plan, e.Kind, e.Key)
		})
	})
}

// mayGoWith reports whether the entry j would be checked and applied whatever
// becomes of i and those between them.
func (r *run) mayGoWith(i, j int) bool {
	entry := &r.cat.Entries[j]
	if entry.Type != r.cat.Entries[i].Type || r.scopes.of[j] != r.scopes.of[i] || entry.Excluded || r.checked(j) || r.monitors(j) || r.errs[j] != nil || len(entry.Subscribe) > 0 {
		return false
	}
	if slices.ContainsFunc(entry.Require, func(k int) bool { return k >= i }) {
		return false
	}
	unmet, _ := r.requirements(j)
	return len(unmet) == 0
}

// settle verifies a member of a batch that has been applied. What is not as it
// should be gets a turn of its own.
func (r *run) settle(ctx context.Context, i int, before *trace, report *notes) error {
	plan, err := r.resources[i].Check(ctx, r.present(report))
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
func (r *run) report(i int, done *settled, result *modules.Result, w *witness) error {
	result.Status, result.Changes, result.Message = modules.Changed, done.plan.Changes, done.plan.Action
	if done.err == nil {
		r.record(i, done.plan, w)
	}
	return done.err
}
