package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/excerpt"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A play that uses the results of its resources comes as several catalogs, each of which begins
// with the entries of the one before: see [wire.Catalog].Until. What these came to is known
// here, so that a stage goes on as if all of it had come at once: whoever subscribes to one that
// has changed is refreshed, and nothing has its turn twice. What a stage is owed, the notes know.

// later reports whether a job belongs to a stage to come. In this one it is known for those that
// others are to refresh, and for those that a failure ends.
func (r *run) later(j *job) bool { return r.cat.Until > 0 && j.index >= r.cat.Until }

// awaits reports whether the stage ends before a job. What a failure has ended is told in any case.
func (r *run) awaits(j *job) bool { return r.later(j) && r.play.ended() == "" }

// goOn gives the jobs of the stages before what they came to in those.
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

// endsAs gives a job what it came to in another run of the session.
func (j *job) endsAs(old *job) {
	j.finished = &notes.Finished{Result: old.result.told(), Changed: old.changed, Unmet: old.result.Unmet, Sent: old.exports.sent}
	j.exports.unknown, j.exports.unsent = old.exports.unknown, old.exports.unsent
	j.doubt, j.secret = old.doubt, old.secret
}

// endStage keeps what the jobs of a stage came to for the next one.
func (r *run) endStage() {
	if r.history.stage = nil; r.cat.Until > 0 {
		r.history.stage = slices.Clone(r.jobs[:r.cat.Until])
	}
}

// unknown is the turn of a job that is made of results which are not known, since others are only
// predicted. What it would do may be anything.
func (t *turn) unknown() error {
	j := t.job
	var refs []string
	for _, i := range j.entry.Awaits {
		refs = append(refs, t.run.jobs[i].entry.Ref())
	}
	of := excerpt.Of(strings.Join(refs, ", "), maxText)
	if !j.predicts() {
		return modules.Refuse("depends on the result of %s, which is not known: noop has it only predicted", of)
	}
	for _, ref := range refs {
		j.prediction.Doubt(ref)
	}
	j.result.Status = wire.Changed
	j.result.Message = "depends on the result of " + of + ", which a check run does not know"
	return nil
}

// register keeps for the controller what is about to be withheld from the result.
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
