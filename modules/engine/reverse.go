package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
)

// noteReversal notes what is there before a resource that can be undone is applied for the
// first time, and what it has left alone before. With an error, it must not be applied.
func (j *job) noteReversal(ctx context.Context, found finding) error {
	if !j.entry.Reverse || found.plan.Refreshed && len(found.plan.Changes) == 0 {
		return nil
	}
	if err := j.run.reversals.May(j.entry); err != nil {
		return unkept(err)
	}
	v, err := j.reversal(ctx, found.seen)
	if err != nil {
		return unkept(err)
	}
	return unkept(j.run.reversals.Note(j.entry, v, j.secret))
}

func unkept(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("not done, because it could not be undone (reverse): %w", err)
}

// reversal asks the resource what brings back what is there, or was before it was first
// applied; nil if that is noted already.
func (j *job) reversal(ctx context.Context, seen modules.Host) (*notes.Reversal, error) {
	r := j.run
	reverser, ok := j.resource.(modules.Reverser)
	if !ok {
		return nil, modules.Refuse("type %s cannot", j.entry.Type)
	}
	v, err := r.reversals.New(j.entry, reverser.Subject(), r.engine.Now())
	if err != nil {
		return nil, err
	}
	v.Place, v.Sensitive = r.place(v.Subject), j.secret
	var earlier modules.Resource
	if noted := r.reversals.Of(j.entry); noted != nil {
		if earlier, err = r.engine.Decode(&modules.Entry{Type: v.Type, Name: v.Name, Properties: noted.Properties}); err != nil {
			return nil, err
		}
	}
	var properties map[string]any
	j.outside(func() { properties, err = reverser.Reversal(ctx, seen, earlier) })
	if err != nil || properties == nil {
		return nil, err
	}
	properties["name"] = j.entry.Name
	if v.Properties, err = json.Marshal(properties); err != nil {
		return nil, err
	}
	// What could not be read back would be of no use in the run that needs it.
	_, err = r.engine.Decode(&modules.Entry{Type: v.Type, Name: v.Name, Properties: v.Properties})
	return v, err
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

// maxSubjectRef bounds the name of the resource of a subject, in bytes.
const maxSubjectRef = 512

// A subject is what a resource of the session has looked after.
type subject struct{ subject, ref string }

// noteSubjects notes what the resources are about, for this catalog and those to come.
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
	case modules.Keeper:
		return res.Subjects()
	}
	return nil
}
