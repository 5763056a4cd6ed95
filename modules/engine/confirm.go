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

// A Confirmer has changes taken back that nobody confirms, see [wire.Confirm]. It may be used by
// many goroutines at once.
type Confirmer interface {
	// Armed reports whether that is already so of all changes from now on. First is the first one
	// of the run of which it is so; 0 if there is none.
	Armed() bool
	First() int
	// Arm makes it so from a change on. An error says why not: then the change is not made.
	Arm(ctx context.Context, a Arming) error
}

// An Arming is what is about to be changed.
type Arming struct {
	Index int    // of the entry
	Why   string // it needs to be confirmed
	First int    // the number of the first change of the run that is taken back: its own, or one that it follows
}

// Unconfirmed has [Engine.TakeBack] take back what nobody has confirmed: also what was changed
// since, or was being changed when its host program was killed.
type Unconfirmed struct {
	First int // the change of the run from which on all are taken back
	// Starting says that the host is being started, and that services wait for this to end: they
	// are left to a second time.
	Starting bool
}

// needsConfirm says why the plan needs to be confirmed that is about to be carried out; "" if it
// does not, or changes from now on have to be confirmed already.
func (a *attempt) needsConfirm() string {
	r, j := a.turn.run, a.turn.job
	c := r.cat.Confirm
	if c == nil || r.engine.Confirm == nil || r.cat.Check || j.predicts() {
		return ""
	}
	switch cmp.Or(j.entry.Confirm, c.Mode) {
	case wire.ConfirmNever:
		return ""
	case wire.ConfirmAlways:
		j.reaches = "it has confirm: always"
	default:
		if touched := a.touches(c); touched != "" {
			j.reaches = "it may touch " + touched
		} else if by := r.followed(j.index); by != "" {
			j.reaches = by + ", which follows it, has confirm: always"
		}
	}
	if j.reaches == "" || r.engine.Confirm.Armed() {
		return ""
	}
	return j.reaches
}

// touches says which way to the host the plan may touch: by itself, or since it reacts to
// something that does.
func (a *attempt) touches(c *wire.Confirm) string {
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

// followed names an entry that says confirm: always and is refreshed by another one, whose change is
// not in force before that; "" is none. To put back only what comes later would change nothing.
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

// confirm has the change taken back unless it is confirmed, or says why it is not made.
func (t *turn) confirm(ctx context.Context, a *attempt, why string) error {
	r := t.run
	past, err := r.past()
	switch {
	case err != nil:
	case past == nil:
		err = modules.Refuse("this host stores no former states")
	default:
		err = a.cannotBeTakenBack(ctx)
	}
	if err != nil {
		return modules.Refuse("not done, since %s, and without confirmation it could not be reverted: %v; to apply it anyway, write confirm: never", why, err)
	}
	arming := Arming{Index: t.job.index, Why: why, First: past.Next()}
	if a.plan.Refreshed { // what it follows comes into force with it, and is to be put back before it is refreshed again
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

// cannotBeTakenBack says why the change could not be; nil if it can, or if it is one that is only
// named, such as a package.
func (a *attempt) cannotBeTakenBack(ctx context.Context) (err error) {
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
		if slices.ContainsFunc(a.plan.Effects, func(e modules.Effect) bool { return e.Kind == modules.AnyEffect }) {
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
