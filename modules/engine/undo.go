package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/excerpt"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// maxSubjectRef bounds the name of the resource of a subject, in bytes.
const maxSubjectRef = 512

// A reversal belongs to a resource that has left the manifest.
type reversal struct {
	notes.Reversal
	kept  string // why it is not undone yet, if that is so
	owner string // the resource that looks after its thing now, so that it is forgotten
}

// An undoing ends a run: resources that have left the play are restored to their former states, in the reverse order of
// their changes.
type undoing struct {
	run       *run
	step      func(context.Context, *job) (began bool, err error)
	reversals []reversal           // the last applied first
	owners    map[string][]subject // the resources of the session, by the thing they look after; their own subject is the part of it
	below     map[string]string    // resource below a directory, by directory
}

// undo undoes resources that have left the manifest, if the catalog knows them. step processes a job.
func (r *run) undo(ctx context.Context, step func(context.Context, *job) (began bool, err error)) (stopped bool, err error) {
	r.noteSubjects()
	sensitive := map[string]bool{}
	for _, j := range r.jobs {
		if j.secret {
			sensitive[j.entry.Type+"#"+j.entry.Name] = true
		}
	}
	if err := r.reversals.Hide(sensitive); err != nil {
		return false, fmt.Errorf("recording that the former state is sensitive: %w", err)
	}
	if !r.reversals.Undoes() || r.play.endedBy != "" {
		return false, nil
	}
	if !r.cat.Check {
		if err := r.reversals.Forget(); err != nil {
			return false, fmt.Errorf("removing the records of resources that are no longer undone: %w", err)
		}
	}
	u := &undoing{run: r, step: step}
	if u.find(); len(u.reversals) == 0 {
		return false, nil
	}
	if r.interrupted(ctx) {
		return true, nil
	}
	if r.engine.Undoes != nil {
		if err := r.engine.Undoes(u.message()); err != nil {
			return false, err
		}
	}
	return u.putBack(ctx)
}

// noteSubjects records the subjects of the resources, for this catalog and later ones.
func (r *run) noteSubjects() {
	if r.engine.Reversals == nil || r.cat.Monitor {
		return
	}
	for _, j := range r.jobs {
		if j.invalid != nil || j.entry.Monitor || j.entry.Query != "" {
			continue
		}
		for _, one := range subjectsOf(j.resource) {
			r.history.subjects = append(r.history.subjects, subject{one, notes.Clip(j.entry.Type+"#"+j.entry.Name, maxSubjectRef)})
		}
	}
}

func subjectsOf(res modules.Resource) []string {
	switch res := res.(type) {
	case modules.Reverser:
		return []string{res.Subject()}
	case modules.SubjectNamer:
		return res.Subjects()
	}
	return nil
}

// tellWaiting adds to the failure of the job that it ends the play, if that prevents an undo.
func (r *run) tellWaiting(j *job) {
	if j.scope != r.play || !r.play.failOnError || r.play.endedBy != "" || j.entry.Reversal || !r.reversals.Undoes() {
		return
	}
	if n := len(r.reversals.Gone()); n > 0 {
		text := fmt.Sprintf("resources removed from the manifest (%d) are not undone before a complete run, because this failure ends the play", n)
		j.result.Messages = append(j.result.Messages, modules.Note{Level: "info", Text: text})
	}
}

// find finds the resources that have left the manifest, and decides about each.
func (u *undoing) find() {
	gone := u.run.reversals.Gone()
	if len(gone) == 0 {
		return
	}
	u.findOwners()
	for _, noted := range gone {
		v := reversal{Reversal: noted}
		u.findOwner(&v)
		u.reversals = append(u.reversals, v)
	}
}

func (u *undoing) findOwners() {
	u.owners, u.below = map[string][]subject{}, map[string]string{}
	for _, s := range u.run.history.subjects {
		thing, part := u.run.forecasts.thing(s.subject)
		u.owners[thing] = append(u.owners[thing], subject{part, s.ref})
		if !path.IsAbs(thing) {
			continue
		}
		for dir := path.Dir(thing); dir != "/" && u.below[dir] == ""; dir = path.Dir(dir) {
			u.below[dir] = s.ref
		}
	}
}

// findOwner finds the resource that now manages a thing that has left the manifest, or something below it if the thing
// will be removed.
func (u *undoing) findOwner(v *reversal) {
	if slices.Contains(u.run.cat.Remember.Others, v.Ref()) {
		v.owner = "a later play"
		return
	}
	var is struct {
		Ensure string `json:"ensure"`
	}
	_ = json.Unmarshal(v.Properties, &is) // an object, which it is known to be
	thing, part := u.run.forecasts.thing(v.Subject)
	for _, s := range u.owners[thing] {
		if s.subject == part || s.subject == "" || part == "" {
			v.owner = s.ref
			return
		}
	}
	if in := u.below[thing]; in != "" && is.Ensure == "absent" {
		v.kept = in + " is in it"
	}
}

// moved refuses an undo if the path now leads to another place than at the time of the change: a user that can replace
// a directory by a link must not redirect a write.
func (u *undoing) moved(v *reversal) error {
	if now := u.run.forecasts.place(v.Subject); now != v.Place {
		was, _, _ := strings.Cut(v.Subject, "\n")
		return modules.Refuse("%s was %s when it was changed, and leads to %s now", was, cmp.Or(v.Place, "nowhere"), now)
	}
	return nil
}

// message returns the list of resources that have left the manifest, for the controller.
func (u *undoing) message() *wire.Reversals {
	m := &wire.Reversals{}
	for _, v := range u.reversals {
		m.Entries = append(m.Entries, wire.Reversal{Type: v.Type, Name: v.Name, Sensitive: v.Sensitive})
	}
	return m
}

// putBack undoes the resources that have left the manifest, one after the other, in jobs after the jobs of the catalog.
// A resource that is not undone is only reported, so it counts as excluded.
func (u *undoing) putBack(ctx context.Context) (stopped bool, err error) {
	r := u.run
	r.real.scheduler = nil
	first := len(r.jobs)
	for _, v := range u.reversals {
		j := r.add(&wire.Entry{Type: v.Type, Name: v.Name, Properties: v.Properties, Sensitive: v.Sensitive, Reversal: true, Excluded: v.kept+v.owner != ""})
		if !j.entry.Excluded {
			r.decode(j, j.entry)
		}
	}
	emit := r.emit
	r.emit = func(result *wire.Result) error {
		u.settle(&u.reversals[result.Index-first], result)
		return emit(result)
	}
	for i, j := range r.jobs[first:] {
		if r.interrupted(ctx) {
			return true, nil
		}
		if j.resource != nil && j.invalid == nil {
			j.invalid = u.moved(&u.reversals[i])
		}
		if began, err := u.step(ctx, j); err != nil || !began {
			return !began, err
		}
	}
	return false, nil
}

// hasLeft is why a resource has a result that the play does not have.
const hasLeft = "it has left the manifest"

// settle sets the message for a resource that has left, and drops its record unless it failed.
func (u *undoing) settle(v *reversal, result *wire.Result) {
	done := result.Status == "" || result.Status == wire.Stable || result.Status == wire.Changed
	switch {
	case v.owner != "":
		result.Message, result.Because, done = hasLeft+", and is not undone: "+v.owner+" looks after it now", "", true
	case v.kept != "":
		result.Message, result.Because = hasLeft+", and is not undone yet: "+v.kept, ""
	case result.Status == wire.Changed: // the report adds the reason
	case result.Status == wire.Failed:
		result.Error = excerpt.Of(hasLeft+", and cannot be undone: "+result.Error+` (to keep it, add it to the manifest again without "reverse")`, maxText)
	case done:
		result.Message = hasLeft + "; the former state is there already"
	}
	if !done || u.run.cat.Check {
		return
	}
	if err := u.run.reversals.Drop(v.Reversal); err != nil {
		text := excerpt.Of(fmt.Sprintf("the next run will look at it again, since it could not be noted that it is done: %v", err), maxText)
		result.Messages = append(result.Messages, modules.Note{Level: "warning", Text: text})
	}
}
