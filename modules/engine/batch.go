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

// A member is a job of a batch, with its plan and what its Check has told.
type member struct {
	job     *job
	plan    modules.Plan
	claimed []string // nil for the first, whose try has claimed what it is about
}

// together applies and verifies the plans of a batch, of which the job is the first.
func (j *job) together(ctx context.Context, batch []member) error {
	r := j.run
	indexes, planned := []int{}, []modules.Planned{}
	for _, m := range batch {
		defer r.scheduler.Unclaim(m.claimed)
		indexes = append(indexes, m.job.index)
		planned = append(planned, modules.Planned{Resource: m.job.resource, Plan: m.plan})
	}
	if r.refreshes.Announce(indexes...) != nil { // one alone may have no others to announce it to
		return j.alone(ctx, batch[0].plan)
	}
	r.scheduler.Join(j.index, indexes[1:])
	before := make([]*trace, len(batch))
	for n, m := range batch {
		before[n] = m.job.trace(m.plan)
	}
	h := r.acting(j.said)
	// The error is of no use here: who is to blame is found out below.
	r.change(func() { _ = j.resource.(modules.Batcher).ApplyBatch(ctx, h, planned) })
	err := j.verifyJoint(ctx, before[0])
	for n, m := range batch[1:] {
		m.job.joint = &joint{plan: m.plan, said: m.job.said, err: m.job.verifyJoint(ctx, before[n+1])}
	}
	return err
}

// batch collects the job and others that can go with it: nothing may decide about them
// that is not known yet. nil if it goes alone.
func (j *job) batch(ctx context.Context, plan modules.Plan) []member {
	first, ok := j.resource.(modules.Batcher)
	if !ok || j.scope.failOnError || plan.Refreshed || j.ownTurn() {
		return nil
	}
	key := first.BatchKey(plan)
	if key == "" {
		return nil
	}
	r, batch := j.run, []member{{job: j, plan: plan}}
	for _, next := range j.neighbours() {
		if len(batch) == maxBatch {
			break
		}
		m, goes := next.join(ctx, batch, key)
		if goes {
			batch = append(batch, m)
		} else if r.scheduler == nil { // those behind it come behind it
			break
		}
	}
	if len(batch) < 2 {
		return nil
	}
	return batch
}

// join checks the job, and reports whether it can go with a batch.
func (j *job) join(ctx context.Context, batch []member, key string) (m member, goes bool) {
	r := j.run
	j.said = &said{}
	seen := r.present(j.said)
	seen.Preload = j.preload(ctx)
	since := r.scheduler.Clock()
	var plan modules.Plan
	var err error
	j.outside(func() { plan, err = j.resource.Check(ctx, seen) })
	if err != nil || !plan.Pending() || j.resource.(modules.Batcher).BatchKey(plan) != key || overlap(batch, plan) {
		return member{}, false
	}
	claimed := r.things(plan)
	return member{j, plan, claimed}, r.scheduler.TryClaim(claimed, since)
}

// neighbours lists the jobs that may go with this one: those right behind it, or those
// that are ready to run while it does.
func (j *job) neighbours() []*job {
	r := j.run
	var list []*job
	if r.scheduler != nil {
		ready := r.scheduler.Ready(j.index)
		for _, i := range ready[:min(len(ready), 10*maxBatch)] {
			if next := r.jobs[i]; j.mayTake(next) {
				list = append(list, next)
			}
		}
		return list
	}
	for _, next := range r.jobs[j.index+1:] {
		if len(list) == maxBatch || !j.mayTake(next) {
			break
		}
		list = append(list, next)
	}
	return list
}

// mayTake reports whether the next job would be checked and applied whatever becomes of
// this one and those between them.
func (j *job) mayTake(next *job) bool {
	e := next.entry
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

// ownTurn reports whether the job is worked on by itself whatever its type: it is
// tried again, waits, is asked, or has to do with what was there before.
func (j *job) ownTurn() bool {
	e := j.entry
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
			return touches(m.plan, e.Kind, e.Key)
		})
	})
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
