package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/excerpt"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A result is the reported outcome of one job.
type result wire.Result

// told returns the result in the form that is sent.
func (r *result) told() *wire.Result { return (*wire.Result)(r) }

// skip records that the job was skipped.
func (r *result) skip(reason wire.SkipReason, message, because string) {
	r.Status, r.Reason, r.Message, r.Because = wire.Skipped, reason, message, excerpt.Of(because, maxText)
}

// change records the change of a plan, whether or not it succeeds. triggers are the entries that refresh the resource.
func (r *result) change(plan modules.Plan, triggers []string) {
	r.Status, r.Refreshed, r.Changes = wire.Changed, plan.Refreshed, plan.Changes
	if plan.Refreshed {
		r.RefreshedBy = triggers
	}
}

// changeAs copies the change of another result.
func (r *result) changeAs(other *result) {
	r.Status, r.Message = other.Status, other.Message
	r.Refreshed, r.RefreshedBy, r.Cause = other.Refreshed, other.RefreshedBy, other.Cause
	r.Changes, r.Diff = other.Changes, other.Diff
}

// fail records a failure. done reports that something was changed all the same.
func (r *result) fail(err error, killed, done bool) {
	r.Status, r.Error, r.Sent = wire.Failed, excerpt.Of(err.Error(), maxText), nil
	r.Killed, r.Done, r.Fetched = killed, done, false
	if !done {
		r.Message = ""
	}
	if !done && len(r.Changes) == 0 {
		r.Cause = ""
	}
	if of, ok := errors.AsType[kindOfError](err); ok && r.Error != "" {
		r.ErrorKind = of.Kind()
	}
}

// A kindOfError is an error with a kind.
type kindOfError interface {
	error
	Kind() modules.ErrorKind
}

// openEnd records an uncertain change for an error that may not occur in the real run, since something will have to
// happen here.
func (r *result) openEnd(err error, because string) {
	r.Status, r.Because, r.Sent = wire.Changed, because, nil
	_, asks := errors.AsType[modules.StateUnknownError](err)
	r.WouldFail = !asks
	r.Message = unpredictable(err, excerpt.Of(err.Error(), maxText), because)
}

// doubt records the grade of the prediction, and the reason.
func (r *result) doubt(d forecast.Doubt) { r.Grade, r.Because = d.Grade, d.Ref }

// tell adds the report of the resource.
func (r *result) tell(s *said) {
	r.Messages, r.Exit, r.Changes = s.list(), s.exit, bounded(r.Changes)
}

// bounded returns as many changes as a result may have, and the number of the others.
func bounded(changes []modules.Change) []modules.Change {
	var kept []modules.Change
	room := maxAllChanges
	for i, c := range changes {
		c = modules.Change{Property: excerpt.Of(c.Property, maxText), Have: excerpt.Of(c.Have, maxText), Want: excerpt.Of(c.Want, maxText)}
		room -= len(c.Property) + len(c.Have) + len(c.Want)
		if others := len(changes) - i; room < 0 || others > 1 && i == modules.MaxParts-1 {
			return append(kept, modules.Change{Property: "others", Have: fmt.Sprintf("%d more", others), Want: "changed"})
		}
		kept = append(kept, c)
	}
	return kept
}

// unpredictable returns the message for an error of a check run that may occur only because an earlier resource has not
// been carried out. text is the part of the error that may be shown.
func unpredictable(err error, text, because string) string {
	if other, ok := errors.AsType[modules.StateUnknownError](err); ok {
		return excerpt.Of("Would have asked for the state of "+string(other)+"; known after apply", maxText)
	}
	return "Would fail unless " + because + " fixes this first: " + text
}

const withheld = "[sensitive]"

// withhold takes everything out of the result that could show the contents of a
// sensitive resource. err is where its error came from.
func (r *result) withhold(err error) {
	for i := range r.Changes {
		r.Changes[i].Have, r.Changes[i].Want = withheld, withheld
	}
	r.Diff, r.Messages, r.State = "", nil, nil
	r.Health = slices.Clone(r.Health)
	for i := range r.Health {
		r.Health[i].Output = "" // output of a command
	}
	if r.Exit != nil {
		r.Exit = &modules.Exit{Code: r.Exit.Code, Elapsed: r.Exit.Elapsed}
	}
	if err == nil {
		return
	}
	safe := redacted(err)
	if r.Status == wire.Failed {
		r.Error = safe
	} else {
		r.Message = unpredictable(err, safe, r.Because)
	}
}

func redacted(err error) string {
	if r, ok := errors.AsType[modules.Redactor](err); ok {
		return r.Redacted()
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Error()
	}
	return "failed; the details are withheld because the resource is sensitive"
}
