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
)

// noteReversal notes what is there before an entry that can be undone is applied for the
// first time, and what it has left alone before. With an error, the entry must not be
// applied.
func (r *run) noteReversal(ctx context.Context, i int, plan modules.Plan, seen modules.Host) error {
	entry := &r.cat.Entries[i]
	if !entry.Reverse || plan.Refreshed && len(plan.Changes) == 0 {
		return nil
	}
	if err := r.reversals.May(entry); err != nil {
		return unkept(err)
	}
	v, err := r.reversal(ctx, i, seen)
	if err != nil {
		return unkept(err)
	}
	return unkept(r.reversals.Note(entry, v, r.secret(i)))
}

func unkept(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("not done, because it could not be undone (reverse): %w", err)
}

// reversal asks an entry what brings back what is there, or was before it was first
// applied; nil if that is noted already.
func (r *run) reversal(ctx context.Context, i int, seen modules.Host) (*notes.Reversal, error) {
	entry := &r.cat.Entries[i]
	reverser, ok := r.resources[i].(modules.Reverser)
	if !ok {
		return nil, modules.Refuse("type %s cannot", entry.Type)
	}
	v, err := r.reversals.New(entry, reverser.Subject(), r.Now())
	if err != nil {
		return nil, err
	}
	v.Place, v.Sensitive = r.place(v.Subject), r.secret(i)
	var earlier modules.Resource
	if noted := r.reversals.Of(entry); noted != nil {
		if earlier, err = r.Decode(&modules.Entry{Type: v.Type, Name: v.Name, Properties: noted.Properties}); err != nil {
			return nil, err
		}
	}
	var properties map[string]any
	r.outside(i, func() { properties, err = reverser.Reversal(ctx, seen, earlier) })
	if err != nil || properties == nil {
		return nil, err
	}
	properties["name"] = entry.Name
	if v.Properties, err = json.Marshal(properties); err != nil {
		return nil, err
	}
	// What could not be read back would be of no use in the run that needs it.
	_, err = r.Decode(&modules.Entry{Type: v.Type, Name: v.Name, Properties: v.Properties})
	return v, err
}

// undo ends a catalog: what the play had and has no more is put back as it was, in the
// reverse order in which it was changed.
func (r *run) undo(ctx context.Context) (stopped bool, err error) {
	r.noteSubjects()
	sensitive := map[string]bool{}
	for i := range r.cat.Entries {
		if e := &r.cat.Entries[i]; r.secret(i) {
			sensitive[e.Type+"#"+e.Name] = true
		}
	}
	if err := r.reversals.Hide(sensitive); err != nil {
		return false, fmt.Errorf("noting that what was there before is sensitive: %w", err)
	}
	if !r.reversals.Undoes() || r.scopes.ended[noScope] != "" {
		return false, nil
	}
	if !r.cat.Check {
		if err := r.reversals.Forget(); err != nil {
			return false, fmt.Errorf("forgetting what is not to be undone any more: %w", err)
		}
	}
	left := r.left()
	if len(left) == 0 {
		return false, nil
	}
	if r.interrupted(ctx) {
		return true, nil
	}
	if r.Leaves != nil {
		if err := r.Leaves(told(left)); err != nil {
			return false, err
		}
	}
	return r.putBack(ctx, left)
}

// tellWaiting says with the failure of an entry that it ends the play, if that keeps
// anything from being undone.
func (r *run) tellWaiting(i int, result *modules.Result) {
	if r.scopes.of[i] != noScope || !r.cat.FailOnError || r.scopes.ended[noScope] != "" || r.cat.Entries[i].Left || !r.reversals.Undoes() {
		return
	}
	if n := len(r.reversals.Gone()); n > 0 {
		text := fmt.Sprintf("what has left the manifest (%d) waits for a whole run, since this failure ends the play", n)
		result.Messages = append(result.Messages, modules.Note{Level: "info", Text: text})
	}
}

// A leaver is a resource that has left the manifest.
type leaver struct {
	notes.Reversal
	kept   string // why it is not undone yet, if that is so
	passed string // the resource that looks after it now, so that it is forgotten
}

// left is what has left the manifest, the last applied first, with what becomes of it.
func (r *run) left() []leaver {
	gone := r.reversals.Gone()
	if len(gone) == 0 {
		return nil
	}
	h, left := r.heirs(), make([]leaver, len(gone))
	for i := range gone {
		left[i].Reversal = gone[i]
		r.heir(h, &left[i])
	}
	return left
}

// heirs are the resources of the session, by what they look after.
type heirs struct {
	of    map[string][]subject // by the thing; their own subject is the part of it
	below map[string]string    // by directory, one that is about something in it
}

func (r *run) heirs() heirs {
	h := heirs{map[string][]subject{}, map[string]string{}}
	for _, s := range r.memory.subjects {
		thing, part := r.thing(s.subject)
		h.of[thing] = append(h.of[thing], subject{part, s.ref})
		if !path.IsAbs(thing) {
			continue
		}
		for dir := path.Dir(thing); dir != "/" && h.below[dir] == ""; dir = path.Dir(dir) {
			h.below[dir] = s.ref
		}
	}
	return h
}

// heir finds who looks after a thing now that has left the manifest, or after something
// in it, if that is to be removed.
func (r *run) heir(h heirs, l *leaver) {
	if slices.Contains(r.cat.Remember.Others, l.Ref()) {
		l.passed = "a later play"
		return
	}
	var is struct {
		Ensure string `json:"ensure"`
	}
	_ = json.Unmarshal(l.Properties, &is) // an object, which it is known to be
	thing, part := r.thing(l.Subject)
	for _, s := range h.of[thing] {
		if s.subject == part || s.subject == "" || part == "" {
			l.passed = s.ref
			return
		}
	}
	if in := h.below[thing]; in != "" && is.Ensure == "absent" {
		l.kept = in + " is in it"
	}
}

// thing takes a subject apart: what it is about, and the part of that. A path is without
// the symbolic links of its directories, so that one file has one name.
func (r *run) thing(subject string) (thing, part string) {
	thing, part, _ = strings.Cut(subject, "\n")
	if path.IsAbs(thing) {
		thing = r.forecasts.Will.Canonical(thing, false)
	}
	return thing, part
}

// place is the path that a subject is about, without the symbolic links of its
// directories; "" if it is about no path.
func (r *run) place(subject string) string {
	if thing, _ := r.thing(subject); path.IsAbs(thing) {
		return thing
	}
	return ""
}

// moved refuses to undo something in another place than where it was done: who may
// exchange a directory for a link must not have others write behind it what was theirs.
func (r *run) moved(l *leaver) error {
	if now := r.place(l.Subject); now != l.Place {
		was, _, _ := strings.Cut(l.Subject, "\n")
		return modules.Refuse("%s was %s when it was changed, and leads to %s now", was, cmp.Or(l.Place, "nowhere"), now)
	}
	return nil
}

// A subject is what a resource of the session has looked after.
type subject struct{ subject, ref string }

// noteSubjects remembers what the entries are about, for this catalog and those to come.
func (r *run) noteSubjects() {
	if r.Engine.Reversals == nil || r.cat.Monitor {
		return
	}
	for i := range r.cat.Entries {
		e := &r.cat.Entries[i]
		if r.errs[i] != nil || e.Monitor || e.Query != "" {
			continue
		}
		for _, one := range subjectsOf(r.resources[i]) {
			r.memory.subjects = append(r.memory.subjects, subject{one, notes.Clip(e.Type+"#"+e.Name, 512)})
		}
	}
}

func subjectsOf(res modules.Resource) []string {
	switch res := res.(type) {
	case modules.Reverser:
		return []string{res.Subject()}
	case modules.Keeper:
		return res.Subjects()
	}
	return nil
}

// told is what the controller hears of those that have left.
func told(left []leaver) *modules.Left {
	m := &modules.Left{}
	for _, l := range left {
		m.Entries = append(m.Entries, modules.LeftEntry{Type: l.Type, Name: l.Name, Sensitive: l.Sensitive})
	}
	return m
}

// putBack undoes those that have left, one after the other.
func (r *run) putBack(ctx context.Context, left []leaver) (stopped bool, err error) {
	r.scheduler = nil
	first := len(r.cat.Entries)
	r.enter(left)
	emit := r.emit
	r.emit = func(result *modules.Result) error {
		r.undone(&left[result.Index-first], result)
		return emit(result)
	}
	for i := range left {
		if r.interrupted(ctx) {
			return true, nil
		}
		if at := first + i; r.resources[at] != nil && r.errs[at] == nil {
			r.errs[at] = r.moved(&left[i])
		}
		if began, err := r.step(ctx, first+i); err != nil || !began {
			return !began, err
		}
	}
	return false, nil
}

// enter puts those that have left behind the entries of the catalog. Those that are not
// undone are there to be told of, so they count as excluded.
func (r *run) enter(left []leaver) {
	cat := *r.cat
	cat.Entries = slices.Clip(cat.Entries)
	for _, l := range left {
		e := modules.Entry{Type: l.Type, Name: l.Name, Properties: l.Properties, Sensitive: l.Sensitive, Left: true, Excluded: l.kept+l.passed != ""}
		cat.Entries = append(cat.Entries, e)
		r.traffic.secret = append(r.traffic.secret, e.Sensitive)
		r.scopes.of = append(r.scopes.of, noScope)
		r.results = append(r.results, outcome{})
		r.resources, r.errs = append(r.resources, nil), append(r.errs, nil)
	}
	r.cat = &cat
	for i := len(cat.Entries) - len(left); i < len(cat.Entries); i++ {
		if !cat.Entries[i].Excluded {
			r.resources[i], r.errs[i] = r.decode(i, &cat.Entries[i])
		}
	}
}

// hasLeft is why a resource has a result that the play does not have.
const hasLeft = "it has left the manifest"

// undone words the result of one that has left, and forgets it unless it failed.
func (r *run) undone(l *leaver, result *modules.Result) {
	done := result.Status == "" || result.Status == modules.Stable || result.Status == modules.Changed
	switch {
	case l.passed != "":
		result.Message, result.Because, done = hasLeft+", and is not undone: "+l.passed+" looks after it now", "", true
	case l.kept != "":
		result.Message, result.Because = hasLeft+", and is not undone yet: "+l.kept, ""
	case result.Status == modules.Changed: // who reports it says why
	case result.Status == modules.Failed:
		result.Error = excerpt.Of(hasLeft+", and cannot be undone: "+result.Error+" (to keep what is there, put it back into the manifest without reverse)", maxText)
	case done:
		result.Message = hasLeft + "; what was there before is there already"
	}
	if !done || r.cat.Check {
		return
	}
	if err := r.reversals.Drop(l.Reversal); err != nil {
		text := excerpt.Of(fmt.Sprintf("the next run will look at it again, since it could not be noted that it is done: %v", err), maxText)
		result.Messages = append(result.Messages, modules.Note{Level: "warning", Text: text})
	}
}
