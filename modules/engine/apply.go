package engine

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/before"
)

// alone announces, applies and verifies the plan by itself.
func (a *attempt) alone(ctx context.Context) error {
	t, j := a.turn, a.turn.job
	if err := t.run.refreshes.Announce(j.index); err != nil {
		return err
	}
	if err := a.keepBefore(ctx); err != nil {
		return errors.Join(err, t.run.refreshes.Unannounce(j.index))
	}
	before := a.trace()
	t.begin(a.plan.Command)
	err := t.apply(ctx, a.plan, a.keeper())
	a.keepLeft(ctx, err != nil)
	if err != nil {
		a.retract(ctx, before)
	}
	return err
}

// trace looks at what the plan is about to change, if any entry waits for that.
func (a *attempt) trace() (t *trace) {
	r := a.turn.run
	if !r.refreshes.Awaited(a.turn.job.index) || opaque(a.plan) || len(a.plan.Changes) == 0 {
		return nil
	}
	r.real.outside(func() { t = &trace{a.plan, r.real.paths(a.plan)} })
	return t
}

// retract removes the due refreshes of the failed job if the host is provably unchanged. Otherwise it records the
// failure.
func (a *attempt) retract(ctx context.Context, before *trace) {
	r, j := a.turn.run, a.turn.job
	untouched := func() bool { return r.real.untouched(ctx, j.resource, before) }
	if err := r.refreshes.Retract(j.index, untouched); err != nil {
		a.turn.said.Message("warning", fmt.Sprintf("the next run may refresh more than needed: %v", err))
	}
}

// apply applies a plan of the job's resource and verifies it. keeper keeps the former state; it may be nil.
func (t *turn) apply(ctx context.Context, plan modules.Plan, keeper *before.Keeper) (err error) {
	res, h := t.job.resource, t.run.real
	host, readOnly := t.acting(), h.present(after{t.said})
	if keeper != nil {
		host.Files, host.Keep, host.KeepAttributes = keeper.Acting(), keeper.Keep, keeper.KeepAttributes
	}
	h.change(func() {
		if err = res.Apply(ctx, host, plan); err != nil {
			return
		}
		if err = verify(ctx, res, host, readOnly, plan); err != nil && !isIncomplete(err) {
			err = fmt.Errorf("failed to reach desired state: %w", err)
		}
	})
	return err
}

// isIncomplete reports whether an error means that a change was reverted in part.
func isIncomplete(err error) bool {
	_, is := errors.AsType[before.IncompleteError](err)
	return is
}

// verify checks that Apply has reached the desired state.
func verify(ctx context.Context, res modules.Resource, h, readOnly modules.Host, plan modules.Plan) error {
	if v, ok := res.(modules.Verifier); ok {
		return v.Verify(ctx, h, plan)
	}
	remaining, err := modules.Compare(ctx, res, readOnly)
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

// A trace holds the state of the host that a plan starts from, to find out afterwards whether anything has happened. A
// nil trace reports no change.
type trace struct {
	plan  modules.Plan
	paths []string
}

// paths describes everything at the paths that a plan has effects on.
func (h *realHost) paths(plan modules.Plan) []string {
	var all []string
	for _, e := range plan.Effects {
		if e.Kind != modules.PathEffect {
			continue
		}
		info, err := h.host.Files.Stat(e.Key)
		digest := ""
		if err == nil && info.Kind == modules.Regular {
			digest, err = h.host.Files.Digest(e.Key)
		}
		all = append(all, fmt.Sprintln(e.Key, info, digest, err))
	}
	return all
}

// untouched reports whether the host is unchanged since a resource that failed began.
func (h *realHost) untouched(ctx context.Context, res modules.Resource, before *trace) (same bool) {
	if before == nil {
		return false
	}
	h.outside(func() {
		plan, err := modules.Compare(ctx, res, h.present(modules.Discard{}))
		same = err == nil && plan.Action == before.plan.Action && slices.Equal(plan.Changes, before.plan.Changes) &&
			slices.Equal(h.paths(plan), before.paths)
	})
	return same
}

// An action with a list of effects (affects in the manifest) may change other things, too. A run notices such changes of
// paths of other resources, unless resources run at the same time. It warns, and later check runs ignore the list.

// sight is the state of a path at one moment; the zero sight means a missing path.
type sight struct {
	info modules.FileInfo
	at   time.Time // when its content changed
}

// A listed is an attempt whose manifest lists the effects of its action.
type listed struct {
	a      *attempt
	before map[string]sight // the paths of other resources that are not listed
}

// begin reads the state of the host before the action.
func (l *listed) begin() {
	r, j := l.a.turn.run, l.a.turn.job
	if !l.a.plan.Listed || r.real.scheduler != nil { // others change their paths meanwhile
		return
	}
	l.before = map[string]sight{}
	for _, other := range r.jobs {
		if other == j || other.resource == nil {
			continue
		}
		for _, subject := range subjectsOf(other.resource) {
			if thing, _, _ := strings.Cut(subject, "\n"); path.IsAbs(thing) && !l.lists(thing) {
				l.before[thing] = l.look(thing)
			}
		}
	}
}

// lists reports whether the plan lists a path, or a directory above it.
func (l listed) lists(name string) bool {
	return slices.ContainsFunc(l.a.plan.Effects, func(e modules.Effect) bool {
		return e.Kind == modules.BelowEffect && modules.Inside(name, e.Key)
	})
}

// look returns the current state of a path of the host.
func (l listed) look(name string) sight {
	files := l.a.turn.run.real.host.Files
	info, err := files.Stat(name)
	if err != nil {
		return sight{}
	}
	at, _ := files.ModTime(name)
	return sight{info, at}
}

// compare warns of paths that have changed, and notes for later check runs that the list is not complete.
func (l listed) compare() {
	t := l.a.turn
	var changed []string
	for name, was := range l.before {
		now := l.look(name)
		if now.info.Kind == modules.Directory && was.info.Kind == modules.Directory { // names in it are other paths
			now.info.Size, now.info.Links, now.at = was.info.Size, was.info.Links, was.at
		}
		if now != was {
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 {
		return
	}
	slices.Sort(changed)
	t.said.Message(modules.LevelWarning, "the action changed "+strings.Join(changed, ", ")+`, but the property "affects" does not list this path: add it; until then, a check run takes all later predictions for unknown`)
	t.openApplied()
	t.run.applied.WentBeyond(t.job.entry, t.resolved())
}

// distrust adds Anything to the effects if an earlier run has seen effects that are not listed.
func (l listed) distrust() {
	a, t := l.a, l.a.turn
	if !a.plan.Listed || t.run.engine.Applied == nil {
		return
	}
	t.openApplied()
	if t.run.applied.GoesBeyond(t.job.entry, t.resolved()) {
		a.plan.Effects = append(slices.Clone(a.plan.Effects), modules.Anything)
	}
}
