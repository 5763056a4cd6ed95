package engine

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// maxBatch bounds the members of a batch, and with them a command line.
const maxBatch = 100

// A joint is what became of a job in the turn of an earlier one: all that is left is to
// report it.
type joint struct {
	plan modules.Plan
	said *said
	err  error
}

// A batch is jobs that are applied together: the first one, which has its turn, and others
// that can go with it, since nothing may decide about them that is not known yet.
type batch struct {
	first   *job
	key     string // as [modules.Batcher] has it
	members []member
}

// A member is a job of a batch, with its plan.
type member struct {
	job     *job
	plan    modules.Plan
	claimed []string // nil for the first, whose try has claimed what it is about
}

// carryOut applies and verifies a plan of the job, and at once those of others that can
// go with it.
func (j *job) carryOut(ctx context.Context, plan modules.Plan) error {
	first, ok := j.resource.(modules.Batcher)
	if !ok || j.scope.failOnError || plan.Refreshed || j.ownTurn() {
		return j.alone(ctx, plan)
	}
	b := &batch{first: j, key: first.BatchKey(plan), members: []member{{job: j, plan: plan}}}
	if b.key != "" {
		b.collect(ctx)
	}
	if len(b.members) < 2 {
		return j.alone(ctx, plan)
	}
	return b.carryOut(ctx)
}

// collect finds the jobs that go with the first one.
func (b *batch) collect(ctx context.Context) {
	for _, next := range b.candidates() {
		if len(b.members) == maxBatch {
			return
		}
		if !b.take(ctx, next) && b.first.run.scheduler == nil { // those behind it come behind it
			return
		}
	}
}

// candidates lists the jobs that may go with the first one: those right behind it, or
// those that are ready to run while it does.
func (b *batch) candidates() []*job {
	r := b.first.run
	var list []*job
	if r.scheduler != nil {
		ready := r.scheduler.Ready(b.first.index)
		for _, i := range ready[:min(len(ready), 10*maxBatch)] {
			if next := r.jobs[i]; b.mayTake(next) {
				list = append(list, next)
			}
		}
		return list
	}
	for _, next := range r.jobs[b.first.index+1:] {
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
	if e.Type != j.entry.Type || next.scope != j.scope || e.Excluded || next.predicts() || next.monitors() || next.invalid != nil ||
		len(e.Subscribe) > 0 || next.ownTurn() || next.secret != j.secret {
		return false
	}
	if j.run.scheduler == nil && slices.ContainsFunc(e.Require, func(i int) bool { return i >= j.index }) {
		return false
	}
	unmet, _ := next.requirements()
	return len(unmet) == 0
}

// take checks a job, and reports whether it goes with the batch.
func (b *batch) take(ctx context.Context, j *job) bool {
	r := j.run
	j.said = &said{}
	seen := r.present(j.said)
	seen.Preload = j.preload(ctx)
	since := r.scheduler.Clock()
	var plan modules.Plan
	var err error
	j.outside(func() { plan, err = j.resource.Check(ctx, seen) })
	if err != nil || !plan.Pending() || j.resource.(modules.Batcher).BatchKey(plan) != b.key || b.overlaps(plan) {
		return false
	}
	claimed := r.things(plan)
	if !r.scheduler.TryClaim(claimed, since) {
		return false
	}
	b.members = append(b.members, member{j, plan, claimed})
	return true
}

// overlaps reports whether a plan is about something that a member of the batch
// will have seen to: once it has, there may be nothing left to do.
func (b *batch) overlaps(plan modules.Plan) bool {
	touches := func(p modules.Plan, kind modules.EffectKind, key string) bool {
		return slices.ContainsFunc(p.Effects, func(e modules.Effect) bool { return e.Kind == kind && e.Key == key })
	}
	return slices.ContainsFunc(plan.Effects, func(e modules.Effect) bool {
		return e.Kind != modules.AnyEffect && slices.ContainsFunc(b.members, func(m member) bool {
			return touches(m.plan, e.Kind, e.Key)
		})
	})
}

// carryOut applies and verifies the plans of the batch.
func (b *batch) carryOut(ctx context.Context) error {
	j := b.first
	r := j.run
	indexes, planned := []int{}, []modules.Planned{}
	for _, m := range b.members {
		defer r.scheduler.Unclaim(m.claimed)
		indexes = append(indexes, m.job.index)
		planned = append(planned, modules.Planned{Resource: m.job.resource, Plan: m.plan})
	}
	if r.refreshes.Announce(indexes...) != nil { // one alone may have no others to announce it to
		return j.alone(ctx, b.members[0].plan)
	}
	r.scheduler.Join(j.index, indexes[1:])
	before := make([]*trace, len(b.members))
	for n, m := range b.members {
		before[n] = m.job.trace(m.plan)
	}
	h := r.acting(j.said)
	// The error is of no use here: who is to blame is found out below.
	r.change(func() { _ = j.resource.(modules.Batcher).ApplyBatch(ctx, h, planned) })
	err := j.verifyJoint(ctx, before[0])
	for n, m := range b.members[1:] {
		m.job.joint = &joint{plan: m.plan, said: m.job.said, err: m.job.verifyJoint(ctx, before[n+1])}
	}
	return err
}

// ownTurn reports whether the job is worked on by itself whatever its type: it is
// tried again, waits, is asked, or has to do with what was there before.
func (j *job) ownTurn() bool {
	e := j.entry
	return e.Retry > 0 || e.Timeout > 0 || len(e.Sema) > 0 || len(e.Receive) > 0 || e.Query != "" || e.Hidden || e.Reverse || e.Left
}

// verifyJoint verifies a member of a batch that has been applied. What is not as it
// should be gets a turn of its own.
func (j *job) verifyJoint(ctx context.Context, before *trace) error {
	var plan modules.Plan
	var err error
	j.outside(func() { plan, err = j.resource.Check(ctx, j.run.present(j.said)) })
	if err == nil && !plan.Pending() {
		return nil
	}
	if err == nil {
		err = j.applyAndVerify(ctx, plan)
	}
	if err != nil {
		j.retract(ctx, before)
	}
	return err
}

// reportJoint tells what became of a job in the turn of an earlier one.
func (j *job) reportJoint() error {
	done := j.joint
	j.said = done.said
	j.result.Status, j.result.Changes, j.result.Message = modules.Changed, done.plan.Changes, done.plan.Action
	if done.err == nil {
		j.record(j.entry.Ref(), done.plan)
	}
	return done.err
}
