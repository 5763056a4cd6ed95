package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/before"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
)

// A keep is the record of an attempt, for an undo of its run.
type keep struct {
	past   *notes.Past
	change *notes.Change
	keeper *before.Keeper // keeper of the paths that it changes; nil if it has another reversal
}

// past returns the store of former states; nil if the run keeps none.
func (r *run) past() (*notes.Past, error) {
	e, lock := r.engine, r.cat.Lock
	if e.Past == nil || lock == nil || r.cat.Check || r.cat.Monitor {
		return nil, nil
	}
	if r.history.past == nil {
		past, err := notes.OpenPast(e.Past, lock, e.Now())
		if err != nil {
			return nil, err
		}
		if e.Confirm != nil {
			past.Anew(e.Confirm.First())
		}
		r.history.past = past
	}
	return r.history.past, nil
}

// keepBefore keeps the state before the plan is applied. If that fails, it adds a warning. It returns an error only for
// a change that needs to be confirmed.
func (a *attempt) keepBefore(ctx context.Context) error {
	past, err := a.turn.run.past()
	if err == nil && past != nil {
		a.kept, err = a.keepIn(ctx, past)
	}
	if k := a.keeper(); err == nil && k != nil && a.turn.job.reaches != "" {
		err = k.Err()
	}
	if err != nil && a.turn.job.reaches != "" {
		return fmt.Errorf("not done, because the former state could not be stored, and ccm-push could not revert the change: %w", err)
	}
	if err != nil {
		a.turn.said.Message("warning", fmt.Sprintf("it cannot be undone later, because the former state could not be stored: %v", err))
	}
	return nil
}

func (a *attempt) keepIn(ctx context.Context, past *notes.Past) (*keep, error) {
	r, j := a.turn.run, a.turn.job
	c := notes.Change{Type: j.entry.Type, Name: j.entry.Name, Alias: j.entry.Alias, Sensitive: j.secret, Properties: a.turn.resolved()}
	if once := r.cat.Once; once != nil {
		c.Play = once.Play
	}
	if a.plan.Refreshed {
		c.Refreshes = a.triggers
	}
	if u := j.undone; u != nil && !u.refresh {
		c.Undoes = &notes.Undoes{Run: r.cat.Undo.Run, Number: u.change.Number}
	}
	reversed, err := a.reversedBy(ctx, &c)
	if err != nil {
		return nil, err
	}
	if !j.entry.NoHistory && j.undone == nil {
		if err := a.serviceBefore(ctx, past, &c); err != nil {
			return nil, err
		}
		c.Units = a.unitsBefore(ctx, past)
	}
	noted, again, err := past.Begin(c, reversed)
	if err != nil {
		return nil, err
	}
	k := &keep{past: past, change: noted}
	if again {
		reversed = noted.Reversal != nil
	}
	if reversed || j.entry.NoHistory {
		return k, nil
	}
	k.keeper = &before.Keeper{
		Files: r.real.host.Files, Contents: r.engine.Past,
		Note: func(nodes []before.Node) error { return past.Paths(noted, nodes) },
	}
	k.keeper.Known(noted.Before)
	if names := accountsOf(a.plan); len(names) > 0 {
		a.turn.outside(func() { k.keeper.KeepAccounts(names...) })
	}
	if len(accountsOf(a.plan)) > 0 || !slices.ContainsFunc(a.plan.Effects, modules.Effect.Anywhere) {
		// At once, which is cheaper than one after the other.
		a.turn.outside(func() { k.keeper.Keep(ctx, paths(a.plan)...) })
	}
	return k, nil
}

// paths returns the paths that a plan has effects on.
func paths(plan modules.Plan) []string {
	var all []string
	for _, e := range plan.Effects {
		if e.Kind == modules.PathEffect && !e.State.(modules.PathState).Stays {
			all = append(all, e.Key)
		}
	}
	return all
}

// onlyRefreshes reports whether the plan does nothing but refresh the resource, which has
// nothing to be brought back.
func (a *attempt) onlyRefreshes() bool { return a.plan.Refreshed && len(a.plan.Changes) == 0 }

// reversedBy records in a change the resource that restores the former state, unless paths are restored one by one: the
// thing is not a path, or is a part of a file.
func (a *attempt) reversedBy(ctx context.Context, c *notes.Change) (reversed bool, err error) {
	j := a.turn.job
	reverser, ok := j.resource.(modules.Reverser)
	switch {
	case a.onlyRefreshes():
		return true, nil
	case j.entry.NoHistory:
		c.Cannot = "nothing is kept of it (history: false)"
		return false, nil
	case len(accountsOf(a.plan)) > 0: // each part that the files of accounts have comes back by itself
		if ok {
			c.Subject = reverser.Subject()
		}
		return false, nil
	case !ok:
		c.Cannot = "type " + j.entry.Type + " does not report its changes"
		return false, nil
	}
	c.Subject = reverser.Subject()
	if thing, part, _ := strings.Cut(c.Subject, "\n"); path.IsAbs(thing) && part == "" {
		return false, nil
	}
	c.Place = a.place(c.Subject)
	var properties map[string]any
	a.turn.outside(func() { properties, err = reverser.Reversal(ctx, a.seen, nil) })
	if err != nil {
		c.Cannot, a.unkept = err.Error(), err.Error()
		return false, nil
	}
	properties["name"] = j.entry.Name
	text, err := json.Marshal(properties)
	if err != nil {
		return false, err
	}
	if lasting, ok := j.resource.(modules.Lasting); ok {
		c.Cannot = lasting.Lasts() + "; the ad-hoc call that would: " + call(j.entry.Type, j.entry.Name, properties, j.secret)
		return true, nil
	}
	c.Reversal = text
	return true, nil
}

// place is the path that a subject is about, without the symbolic links of its directories; ""
// if it is about none.
func (a *attempt) place(subject string) string {
	thing, _, _ := strings.Cut(subject, "\n")
	if !path.IsAbs(thing) {
		return ""
	}
	return before.Place(a.seen.Files, thing)
}

// call is an ad-hoc call for a resource, as a shell takes it. Of a sensitive one it has no more than ensure.
func call(typ, name string, properties map[string]any, sensitive bool) string {
	words := []string{typ, name, fmt.Sprintf("ensure=%v", properties["ensure"])}
	for _, property := range slices.Sorted(maps.Keys(properties)) {
		if sensitive || property == "ensure" || property == "name" || property == "lock_timeout" { // these are not part of the former state
			continue
		}
		value := fmt.Sprint(properties[property])
		if list, ok := properties[property].([]string); ok {
			value = strings.Join(list, ",")
		}
		if strings.ContainsAny(value, " \t\n\"'\\$&|;<>()[]{}*?!`#~") {
			value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
		words = append(words, property+"="+value)
	}
	return strings.Join(words, " ")
}

// onlyPaths reports whether the restored paths are all that the plan changes, as far as types declare it: a type that
// could restore the rest, too, has reported why it cannot.
func (a *attempt) onlyPaths() bool {
	_, rest := a.turn.job.resource.(modules.Reverser)
	return !rest || !slices.ContainsFunc(a.plan.Effects, func(e modules.Effect) bool {
		return e.Kind != modules.PathEffect && e.Kind != modules.BelowEffect
	})
}

// warnOfLost names the paths that the plan has changed and that cannot be put back.
func (a *attempt) warnOfLost(left []before.Node) {
	for _, text := range before.Lost(a.kept.change.Before, left) {
		a.turn.said.Message(modules.LevelWarning, "it cannot be undone later: "+text)
	}
}

// keeper returns the keeper of the attempt; nil if it has none.
func (a *attempt) keeper() *before.Keeper {
	if a.kept == nil {
		return nil
	}
	return a.kept.keeper
}

// keepLeft records the state after the plan. failed reports that the plan was not applied successfully.
func (a *attempt) keepLeft(ctx context.Context, failed bool) {
	k := a.kept
	if k == nil {
		return
	}
	var err error
	a.turn.outside(func() { err = a.left(context.WithoutCancel(ctx), failed) })
	if err == nil && a.unkept != "" {
		err = errors.New(a.unkept)
	}
	if err != nil {
		a.turn.said.Message(modules.LevelWarning, fmt.Sprintf("it cannot be undone later: %v", err))
	}
}

func (a *attempt) left(ctx context.Context, failed bool) (err error) {
	k, left := a.kept, notes.Left{}
	if a.plan.Refreshed {
		left.RefreshedBy = a.triggers
	}
	switch {
	case k.keeper != nil:
		if err = k.keeper.Err(); err != nil {
			err = cmp.Or(k.past.Cannot(k.change, "a part of the former state could not be stored: "+err.Error()), err)
		}
		if len(k.change.Before) == 0 {
			if err != nil {
				return err
			}
			break
		}
		var wrong error
		if left.Paths, wrong = before.Look(k.keeper.Files, k.change.Before); wrong != nil {
			return cmp.Or(k.past.Cannot(k.change, "it could not be seen how the run left it: "+wrong.Error()), wrong)
		}
		if err == nil && k.change.Cannot != "" && a.onlyPaths() {
			a.unkept, err = "", k.past.Cannot(k.change, "")
		}
		a.warnOfLost(left.Paths)
		return errors.Join(err, k.past.Leaves(k.change, left))
	case failed && (k.change.Reversal != nil || k.change.Was != ""):
		plan, err := modules.Compare(ctx, a.turn.job.resource, a.turn.run.real.present(modules.Discard{}))
		switch {
		case err == nil:
			left.Changes = plan.Changes
		case ranBefore(k.change): // its unit file cannot be used as it is now
			left.Changes = []modules.Change{{Property: "ensure", Have: "failed", Want: "running"}}
		default:
			return nil // the state after it is unknown
		}
	}
	return k.past.Leaves(k.change, left)
}
