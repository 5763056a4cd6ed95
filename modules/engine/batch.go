package engine

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// maxBatch bounds the members of a batch, and with them a command line.
const maxBatch = 100

// A batch is jobs that are applied together: the first one, which has its turn, and others
// that can go with it, since nothing may decide about them that is not known yet.
type batch struct {
	run     *run
	first   *job
	key     string     // as [modules.Batcher] has it
	members []*attempt // attempt of the first job, which has claimed its things, and of the others
}

// carryOut applies and verifies the plan, together with the plans of other jobs that can join it.
func (a *attempt) carryOut(ctx context.Context) error {
	r, j := a.turn.run, a.turn.job
	first, ok := j.resource.(modules.Batcher)
	if !ok || j.scope.failOnError || a.plan.Refreshed || j.ownTurn() {
		return a.alone(ctx)
	}
	b := &batch{run: r, first: j, key: first.BatchKey(a.plan), members: []*attempt{a}}
	if b.key != "" {
		b.collect(ctx)
	}
	if len(b.members) < 2 {
		return a.alone(ctx)
	}
	return b.carryOut(ctx)
}

// collect finds the jobs that go with the first one.
func (b *batch) collect(ctx context.Context) {
	for _, next := range b.candidates() {
		if len(b.members) == maxBatch {
			return
		}
		if !b.take(ctx, next) && b.run.real.scheduler == nil { // in a list, later jobs must not overtake this one
			return
		}
	}
}

// candidates lists the jobs that may join the first one: the next jobs in a list, or the jobs that have become ready.
func (b *batch) candidates() []*job {
	var list []*job
	if scheduler := b.run.real.scheduler; scheduler != nil {
		ready := scheduler.Ready(b.first.index)
		for _, i := range ready[:min(len(ready), 10*maxBatch)] {
			if next := b.run.jobs[i]; b.mayTake(next) {
				list = append(list, next)
			}
		}
		return list
	}
	for _, next := range b.run.jobs[b.first.index+1:] {
		if len(list) == maxBatch || !b.mayTake(next) {
			break
		}
		list = append(list, next)
	}
	return list
}

// mayTake reports whether the next job would be checked and applied whatever becomes of
// the first one and those between them.
func (b *batch) mayTake(next *job) bool {
	j, e := b.first, next.entry
	if e.Type != j.entry.Type || next.scope != j.scope || e.Excluded || b.run.later(next) || next.predicts() || next.monitors || next.invalid != nil ||
		len(e.Subscribe) > 0 || next.ownTurn() || next.secret != j.secret {
		return false
	}
	if b.run.real.scheduler == nil && slices.ContainsFunc(e.Require, func(i int) bool { return i >= j.index }) {
		return false
	}
	unmet, _ := b.run.jobs.requirements(next)
	return len(unmet) == 0
}

// take checks a job, and reports whether it goes with the batch.
func (b *batch) take(ctx context.Context, j *job) bool {
	r := b.run
	a := &attempt{turn: r.newTurn(j)}
	a.seen = r.real.present(a.turn.said)
	a.seen.Preload = r.preload(ctx, j)
	since := r.real.scheduler.Clock()
	var err error
	r.real.outside(func() { a.plan, err = modules.Compare(ctx, j.resource, a.seen) })
	if err != nil || !a.plan.Pending() || (guarded{a}).needsConfirm() != "" || j.resource.(modules.Batcher).BatchKey(a.plan) != b.key || b.overlaps(a.plan) {
		return false
	}
	if a.claimed = r.things(a.plan); !r.real.scheduler.TryClaim(a.claimed, since) {
		return false
	}
	b.members = append(b.members, a)
	return true
}

// overlaps reports whether a plan is about something that a member of the batch
// will have seen to: once it has, there may be nothing left to do.
func (b *batch) overlaps(plan modules.Plan) bool {
	touches := func(p modules.Plan, kind modules.EffectKind, key string) bool {
		return slices.ContainsFunc(p.Effects, func(e modules.Effect) bool { return e.Kind == kind && e.Key == key })
	}
	return slices.ContainsFunc(plan.Effects, func(e modules.Effect) bool {
		return !e.Anywhere() && slices.ContainsFunc(b.members, func(m *attempt) bool {
			return touches(m.plan, e.Kind, e.Key)
		})
	})
}

// carryOut applies and verifies the plans of the batch.
func (b *batch) carryOut(ctx context.Context) error {
	real := b.run.real
	first, others := b.members[0], b.members[1:]
	indexes, planned := []int{}, []modules.Planned{}
	for _, a := range b.members {
		indexes = append(indexes, a.turn.job.index)
		planned = append(planned, modules.Planned{Resource: a.turn.job.resource, Plan: a.plan})
	}
	for _, a := range others {
		defer real.scheduler.Unclaim(a.claimed)
	}
	if b.run.refreshes.Announce(indexes...) != nil { // one alone may have no others to announce it to
		return first.alone(ctx)
	}
	real.scheduler.Join(b.first.index, indexes[1:])
	before := make([]*trace, len(b.members))
	for n, a := range b.members {
		_ = a.keepBefore(ctx) // a job that needs to be confirmed and cannot be kept has not joined
		before[n] = a.trace()
	}
	host := first.turn.acting()
	// The error is ignored: the verification below finds the members that failed.
	real.change(func() { _ = b.first.resource.(modules.Batcher).ApplyBatch(ctx, host, planned) })
	err := first.verifyJoint(ctx, before[0])
	for n, a := range others {
		a.turn.job.joint = &joint{plan: a.plan, said: a.turn.said, err: a.verifyJoint(ctx, before[n+1])}
	}
	return err
}

// verifyJoint verifies a member of an applied batch. A member that has not reached its desired state gets a turn of its
// own.
func (a *attempt) verifyJoint(ctx context.Context, before *trace) error {
	t, real, resource := a.turn, a.turn.run.real, a.turn.job.resource
	var plan modules.Plan
	var err error
	real.outside(func() { plan, err = modules.Compare(ctx, resource, real.present(t.said)) })
	if err == nil && !plan.Pending() {
		a.keepLeft(ctx, false)
		return nil
	}
	if err == nil {
		err = t.apply(ctx, plan, a.keeper())
	}
	a.keepLeft(ctx, err != nil)
	if err != nil {
		a.retract(ctx, before)
	}
	return err
}

// reportJoint reports a job that was applied in the turn of an earlier one.
func (t *turn) reportJoint() error {
	j, done := t.job, t.job.joint
	t.said = done.said
	j.result.Status, j.result.Changes, j.result.Message = wire.Changed, done.plan.Changes, done.plan.Action
	j.result.Cause = (&attempt{turn: t, plan: done.plan, own: true}).cause()
	if done.err == nil {
		t.run.forecasts.record(j, j.entry.Ref(), done.plan)
	}
	return done.err
}
