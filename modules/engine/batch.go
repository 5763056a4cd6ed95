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
	if len(batch) < 2 {
		return r.apply(ctx, i, plan, report)
	}
	h := r.acting(report)
	// The error is of no use here: who is to blame is found out below.
	_ = r.resources[i].(modules.Batcher).ApplyBatch(ctx, h, batch)
	err := r.settle(ctx, i, report)
	for j := i + 1; j < i+len(batch); j++ {
		notes := new(notes)
		r.settled[j] = &settled{plan: batch[j-i].Plan, notes: notes, err: r.settle(ctx, j, notes)}
	}
	return err
}

// batch collects the entry i and those that follow it, as long as they can go
// with it: nothing may decide about them that is not known yet.
func (r *run) batch(ctx context.Context, i int, plan modules.Plan) []modules.Planned {
	first, ok := r.resources[i].(modules.Batcher)
	if !ok || r.cat.FailOnError || plan.Refreshed {
		return nil
	}
	key := first.BatchKey(plan)
	batch := []modules.Planned{{Resource: r.resources[i], Plan: plan}}
	for j := i + 1; key != "" && j < len(r.cat.Entries) && len(batch) < maxBatch && r.mayGoWith(i, j); j++ {
		next, err := r.resources[j].Check(ctx, r.present(modules.Discard{}))
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
	if entry.Type != r.cat.Entries[i].Type || entry.Excluded || r.checked(j) || r.errs[j] != nil || len(entry.Subscribe) > 0 {
		return false
	}
	if slices.ContainsFunc(entry.Require, func(k int) bool { return k >= i }) {
		return false
	}
	unmet, _ := r.requirements(entry)
	return len(unmet) == 0
}

// settle verifies a member of a batch that has been applied. What is not as it
// should be gets a turn of its own.
func (r *run) settle(ctx context.Context, i int, report *notes) error {
	plan, err := r.resources[i].Check(ctx, r.present(report))
	if err != nil || !plan.Pending() {
		return err
	}
	return r.apply(ctx, i, plan, report)
}

// report tells what became of an entry that is settled.
func (r *run) report(i int, done *settled, result *modules.Result, w *witness) error {
	result.Status, result.Changes, result.Message = modules.Changed, done.plan.Changes, done.plan.Action
	if done.err == nil {
		r.record(i, done.plan, w)
	}
	return done.err
}
