package engine

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/before"
	"github.com/ccm-push/ccm-push/modules/engine/reach"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Confirmer reverts changes that are not confirmed, see [wire.Confirm]. Goroutines may use it concurrently.
type Confirmer interface {
	// Armed reports whether all further changes will be reverted unless confirmed. First returns the first such change
	// of the run, or 0.
	Armed() bool
	First() int
	// Arm arms a revert from a change on. After an error, the change must not be made.
	Arm(ctx context.Context, a Arming) error
}

// An Arming describes a login-path change before it is made.
type Arming struct {
	Index int    // index of the entry
	Why   string // it needs to be confirmed
	First int    // the number of the first change of the run that is taken back: its own, or one that it follows
}

// Unconfirmed makes [Engine.TakeBack] revert changes that were not confirmed, even if the resource has changed since,
// or was being changed when its host program was killed.
type Unconfirmed struct {
	First int // the change of the run from which on all are taken back
	// Starting reports that the host is starting and services wait for the revert: they are reverted later.
	Starting bool
}

// A guarded is an attempt whose change may need to be confirmed.
type guarded struct{ *attempt }

// needsConfirm returns why the plan needs to be confirmed; "" if it does not, or if further changes have to be
// confirmed already.
func (a guarded) needsConfirm() string {
	r, j := a.turn.run, a.turn.job
	if r.engine.Confirm == nil || r.cat.Check || j.predicts() || !a.reaches() || r.engine.Confirm.Armed() {
		return ""
	}
	return j.reaches
}

// reaches reports whether the plan may affect how the host is reached, and notes why in the job.
func (a guarded) reaches() bool {
	r, j := a.turn.run, a.turn.job
	c := r.cat.Confirm
	if c == nil {
		return false
	}
	switch cmp.Or(j.entry.Confirm, c.Mode) {
	case wire.ConfirmNever:
		return false
	case wire.ConfirmAlways:
		j.reaches = "it has confirm: always"
	default:
		if touched := a.touches(c); touched != "" {
			j.reaches = "it may touch " + touched
		} else if by := r.followed(j.index); by != "" {
			j.reaches = by + ", which follows it, has confirm: always"
		}
	}
	return j.reaches != ""
}

// predictRefusal returns the error with which a run refuses the change because the host could not revert it; nil if the run makes the
// change. A run refuses no change after it has armed the revert.
func (a guarded) predictRefusal(ctx context.Context) error {
	r, j := a.turn.run, a.turn.job
	if !a.reaches() || r.armer != nil && !r.armer.prediction.Because.Any() {
		return nil
	}
	err := a.cannotBeTakenBack(ctx)
	switch {
	case err == nil && r.armer == nil:
		r.armer = j
	case err != nil && r.armer == nil:
		return notRevertible(j.reaches, err)
	case err != nil:
		j.prediction.Doubt(r.armer.entry.Ref())
	}
	return nil
}

// notRevertible is the error of a change that the host could not revert.
func notRevertible(why string, err error) error {
	return modules.Refuse("not done, because %s, and without confirmation ccm-push could not revert the change: %v; to apply the change anyway, write confirm: never", why, err)
}

// touches names the way to the host that the plan may affect, directly or through a refresh.
func (a guarded) touches(c *wire.Confirm) string {
	r := a.turn.run
	if r.ways == nil {
		r.ways = reach.New(r.real.host.Files, c.Login, c.Become)
	}
	for _, e := range a.plan.Effects {
		if s, ok := e.State.(modules.PathState); ok && s.Partial { // a command that may do anything
			continue
		}
		touched := r.ways.Touches(e)
		if touched == "" && (e.Kind == modules.PathEffect || e.Kind == modules.BelowEffect) {
			if place := before.Place(a.seen.Files, e.Key); place != e.Key {
				touched = r.ways.Touches(modules.Effect{Kind: e.Kind, Key: place})
			}
		}
		if touched != "" {
			return fmt.Sprintf("%s (%s %s)", touched, e.Kind, e.Key)
		}
	}
	if !a.plan.Refreshed {
		return ""
	}
	for _, target := range a.turn.job.entry.Subscribe {
		first := target
		if scope := r.cat.Entries[target].Scope; scope != nil {
			first -= scope.Entries
		}
		for _, j := range r.jobs[first : target+1] {
			if j.reaches != "" && j.changed {
				return "how the host is reached, since " + j.entry.Ref() + " may"
			}
		}
	}
	return ""
}

// followed names an entry that has confirm: always and is refreshed by the entry index, whose change has no effect
// before that, or "". Reverting only later changes would have no effect.
func (r *run) followed(index int) string {
	for i := index + 1; i < len(r.cat.Entries); i++ {
		e := &r.cat.Entries[i]
		if e.Confirm != wire.ConfirmAlways || e.Check || e.Excluded {
			continue
		}
		for _, target := range e.Subscribe {
			first := target
			if scope := r.cat.Entries[target].Scope; scope != nil {
				first -= scope.Entries
			}
			if first <= index && index <= target {
				return e.Ref()
			}
		}
	}
	return ""
}

// confirm arms the revert of the change, or returns why the change is not made.
func (t *turn) confirm(ctx context.Context, a *attempt, why string) error {
	r := t.run
	past, err := r.past()
	switch {
	case err != nil:
	case past == nil:
		err = modules.Refuse("this host stores no former states")
	default:
		err = guarded{a}.cannotBeTakenBack(ctx)
	}
	if err != nil {
		return notRevertible(why, err)
	}
	arming := Arming{Index: t.job.index, Why: why, First: past.Next()}
	if a.plan.Refreshed { // the change that refreshes it takes effect with it, and is reverted before it is refreshed again
		arming.First = past.Since(a.triggers)
	}
	r.real.scheduler.Aside(t.job.index, func() { err = r.engine.Confirm.Arm(ctx, arming) })
	if err != nil {
		return err
	}
	past.Anew(r.engine.Confirm.First())
	r.real.forget()
	return t.begins()
}

// cannotBeTakenBack returns why the change could not be reverted; nil if it can, or if it is only named in the report,
// such as a package.
func (a guarded) cannotBeTakenBack(ctx context.Context) (err error) {
	j := a.turn.job
	switch {
	case a.onlyRefreshes():
		return nil
	case j.entry.NoHistory:
		return modules.Refuse("nothing is kept of it (history: false)")
	case len(accountsOf(a.plan)) > 0:
		return nil
	}
	reverser, ok := j.resource.(modules.Reverser)
	if !ok {
		if slices.ContainsFunc(a.plan.Effects, modules.Effect.Anywhere) {
			return modules.Refuse("type %s does not report its changes", j.entry.Type)
		}
		return nil
	}
	if thing, part, _ := strings.Cut(reverser.Subject(), "\n"); path.IsAbs(thing) && part == "" {
		return nil
	}
	if _, ok := j.resource.(modules.Lasting); ok {
		return nil
	}
	a.turn.outside(func() { _, err = reverser.Reversal(ctx, a.seen, nil) })
	return err
}

// accountsOf returns the names of the users and groups that a plan changes.
func accountsOf(p modules.Plan) (names []string) {
	for _, e := range p.Effects {
		if (e.Kind == modules.UserEffect || e.Kind == modules.GroupEffect) && !slices.Contains(names, e.Key) {
			names = append(names, e.Key)
		}
	}
	return names
}
