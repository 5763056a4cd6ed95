package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// alone announces, applies and verifies one plan.
func (j *job) alone(ctx context.Context, plan modules.Plan) error {
	if err := j.run.refreshes.Announce(j.index); err != nil {
		return err
	}
	before := j.trace(plan)
	err := j.applyAndVerify(ctx, plan)
	if err != nil {
		j.retract(ctx, before)
	}
	return err
}

// applyAndVerify applies a plan and verifies it.
func (j *job) applyAndVerify(ctx context.Context, plan modules.Plan) (err error) {
	h, readOnly := j.run.acting(j.said), j.run.present(after{report: j.said})
	j.run.change(func() {
		if err = j.resource.Apply(ctx, h, plan); err != nil {
			return
		}
		if err = verify(ctx, j.resource, h, readOnly, plan); err != nil {
			err = fmt.Errorf("failed to reach desired state: %w", err)
		}
	})
	return err
}

// verify checks that Apply has done what it set out to do.
func verify(ctx context.Context, res modules.Resource, h, readOnly modules.Host, plan modules.Plan) error {
	if v, ok := res.(modules.Verifier); ok {
		return v.Verify(ctx, h, plan)
	}
	remaining, err := res.Check(ctx, readOnly)
	if err != nil {
		return err
	}
	if !remaining.Pending() {
		return nil
	}
	if len(remaining.Changes) == 0 {
		return errors.New("still to be " + remaining.Action)
	}
	var reasons []string
	for _, c := range remaining.Changes {
		reasons = append(reasons, fmt.Sprintf("%s mismatch: state=%s requested=%s", c.Property, c.Have, c.Want))
	}
	return errors.New(strings.Join(reasons, ", "))
}

// A trace is how the host looks to a plan before it is carried out, so that it can
// be told afterwards whether anything has happened. nil tells nothing.
type trace struct {
	plan  modules.Plan
	paths []string
}

// trace looks at what the job is about to change, if any entry waits for that.
func (j *job) trace(plan modules.Plan) *trace {
	if !j.run.refreshes.Awaited(j.index) || opaque(plan) || len(plan.Changes) == 0 {
		return nil
	}
	t := &trace{plan: plan}
	j.outside(func() { t.paths = j.run.paths(plan) })
	return t
}

// paths describes all that is at the paths that a plan has effects on.
func (r *run) paths(plan modules.Plan) []string {
	var all []string
	for _, e := range plan.Effects {
		if e.Kind != modules.PathEffect {
			continue
		}
		info, err := r.host.Files.Stat(e.Key)
		digest := ""
		if err == nil && info.Kind == modules.Regular {
			digest, err = r.host.Files.Digest(e.Key)
		}
		all = append(all, fmt.Sprintln(e.Key, info, digest, err))
	}
	return all
}

// retract takes back what was announced for the job, which has failed, if the host
// is provably as it was before. Otherwise it notes the failure.
func (j *job) retract(ctx context.Context, before *trace) {
	untouched := func() bool { return j.untouched(ctx, before) }
	if err := j.run.refreshes.Retract(j.index, untouched); err != nil {
		j.said.Message("warning", fmt.Sprintf("the next run may refresh more than needed: %v", err))
	}
}

// untouched reports whether the host is as it was before the job failed.
func (j *job) untouched(ctx context.Context, before *trace) (same bool) {
	if before == nil {
		return false
	}
	j.outside(func() {
		plan, err := j.resource.Check(ctx, j.run.present(modules.Discard{}))
		same = err == nil && plan.Action == before.plan.Action && slices.Equal(plan.Changes, before.plan.Changes) &&
			slices.Equal(j.run.paths(plan), before.paths)
	})
	return same
}
