package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/excerpt"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A play that uses the results of its resources is sent as several catalogs. Each begins with the entries of the
// catalog before: see [wire.Catalog].Until. Their results are known here, so a stage runs as if all catalogs were one:
// a subscriber of a changed resource is refreshed, and no entry runs twice. The notes contain the due refreshes of a
// stage.

// later reports whether a job belongs to a later stage. This stage lists such a job if an entry of this stage may
// refresh it, or if a failure may skip it.
func (r *run) later(j *job) bool { return r.cat.Until > 0 && j.index >= r.cat.Until }

// awaits reports whether the stage ends before a job. Jobs that a failure has ended are reported at once.
func (r *run) awaits(j *job) bool { return r.later(j) && r.play.ended() == "" }

// goOn restores the results of the jobs of earlier stages.
func (r *run) goOn() error {
	before := r.history.stage
	if r.cat.From > len(before) || r.cat.From > len(r.jobs) {
		return fmt.Errorf("a stage begins after %d entries, but %d are finished", r.cat.From, len(before))
	}
	for i, old := range before[:r.cat.From] {
		r.jobs[i].endsAs(old)
	}
	return nil
}

// endsAs sets the outcome of a job to that in an earlier run of the session.
func (j *job) endsAs(old *job) {
	j.finished = &notes.Finished{Result: old.result.told(), Changed: old.changed, Unmet: old.result.Unmet, Sent: old.exports.sent}
	j.exports.unknown, j.exports.unsent = old.exports.unknown, old.exports.unsent
	j.doubt, j.secret, j.acted.serves = old.doubt, old.secret, old.acted.serves
}

// endStage keeps the outcomes of a stage for the next one.
func (r *run) endStage() {
	if r.history.stage = nil; r.cat.Until > 0 {
		r.history.stage = slices.Clone(r.jobs[:r.cat.Until])
	}
}

// unknown is the turn of a job that depends on unknown results, since others are only predicted. It may do anything.
func (t *turn) unknown() error {
	j := t.job
	var refs []string
	for _, i := range j.entry.Awaits {
		refs = append(refs, t.run.jobs[i].entry.Ref())
	}
	of := excerpt.Of(strings.Join(refs, ", "), maxText)
	if !j.predicts() {
		return modules.Refuse("depends on the result of %s, which a check run can only predict", of)
	}
	for _, ref := range refs {
		j.prediction.Doubt(ref)
	}
	j.result.Message = "depends on the result of " + of + ", which a check run does not know"
	if j.resource = setter(t.run.engine.Decode, j.entry); j.resource == nil { // else it changes nothing, whatever the results are
		j.result.Status = wire.Changed
	}
	return nil
}

// setter returns a resource of the entry's type, if that only sets values of the controller; else nil.
func setter(decode func(*wire.Entry) (modules.Resource, error), e *wire.Entry) modules.Resource {
	properties, err := json.Marshal(map[string]string{"name": e.Name})
	if err != nil {
		return nil
	}
	res, err := decode(&wire.Entry{Type: e.Type, Name: e.Name, Properties: properties})
	if _, sets := res.(modules.Setter); err != nil || !sets {
		return nil
	}
	return res
}

// register keeps for the controller the parts that are about to be withheld from the result.
func (t *turn) register() {
	if t.job.entry.Register && t.job.secret && (t.said.exit != nil || t.job.result.State != nil) {
		t.job.result.Registered = &wire.Registered{Exit: t.said.exit, State: t.job.result.State}
	}
}

// kept is the result as the host keeps it: without secrets.
func (r *result) kept() *wire.Result {
	kept := wire.Result(*r)
	kept.Registered = nil
	return &kept
}
