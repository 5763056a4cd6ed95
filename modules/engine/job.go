package engine

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A job is one entry of a catalog, with the data that other jobs need after its turn.
type job struct {
	index      int
	entry      *wire.Entry
	mode       mode
	monitors   bool   // only its health checks run
	reaches    string // why its change needs to be confirmed; "" if it does not
	showsTexts bool   // its result shows what changes in texts, unless it is secret
	scope      *scope // the manifest that it belongs to
	nested     *scope // the manifest that it stands for; nil if it has a resource
	secret     bool   // nothing of its content may be shown

	resource modules.Resource // nil if it has none, or not yet
	invalid  error            // why its properties make no resource
	stableAt int64            // 1 + the number of changes of the host when a look before the first job found it stable; 0 if none did
	finished *notes.Finished  // its result before the connection was lost; nil if it still has its turn
	cut      *notes.Attempt   // its command that began in an earlier session; nil if none did
	toldCut  bool             // its result reports that the command was cut
	undone   *undone          // the change of an earlier run that it reverts; nil if it belongs to the play
	joint    *joint           // its outcome in the turn of an earlier job; nil if it has its own

	// Its turn and outcome:
	result     *result
	prediction *forecast.Prediction // nil if it had no turn
	status     wire.Status          // once it has its result
	intent     bool                 // it changes, or would change, because the manifest has changed
	changed    bool                 // or would change, whatever became of it later
	acted      acted
	leftOut    bool           // skipped since its scope has ended
	doubt      forecast.Doubt // about its prediction
	restarting bool           // the host goes down for it
	elsewhere  bool           // another host ran it
	exports    exports
	replay     func() // repeats its predictions to the forecast; may be nil
}

// A joint is the outcome of a job in the turn of an earlier one. Only its report is missing.
type joint struct {
	plan modules.Plan
	said *said
	err  error
}

// A mode is the way in which a job is processed.
type mode int

const (
	modeApply   mode = iota // the job is applied
	modePredict             // the job is predicted, in a check run: later jobs see the predicted host
	modeNoop                // the job is never applied: only other noop jobs see its predicted host
)

// predicts reports whether the job is only predicted.
func (j *job) predicts() bool { return j.mode != modeApply }

// diffs reports whether the result shows what changes in texts.
func (j *job) diffs() bool { return j.showsTexts && !j.secret }

// sees reports whether what another job changes, or would change, counts for this one.
func (j *job) sees(other *job) bool { return other.mode != modeNoop || j.mode == modeNoop }

// ownTurn reports whether the job is processed alone whatever its type: it has tries, waits, is a query, runs
// elsewhere, or keeps a former state.
func (j *job) ownTurn() bool {
	e := j.entry
	return j.finished != nil || e.On != "" || e.Once || e.Retry > 0 || e.Timeout > 0 || len(e.Sema) > 0 || len(e.Receive) > 0 || e.Query != "" || e.Hidden || e.Reverse || e.Reversal
}

// blamed is the doubt about jobs that depend on this job. It names the job itself if that would change something, or
// else the reason of its own doubt.
func (j *job) blamed() forecast.Doubt {
	doubt := j.doubt
	if doubt.Any() && j.status == wire.Changed {
		doubt.Ref = j.entry.Ref()
	}
	return doubt
}

// mayChange returns the effects of a job that may turn out to act although no plan of it is known.
func (j *job) mayChange() []modules.Effect {
	if _, sets := j.resource.(modules.Setter); sets {
		return nil
	}
	if j.prediction.Because.Grade == modules.Likely { // that it acts is not likely
		return []modules.Effect{modules.Elsewhere}
	}
	subjects := subjectsOf(j.resource)
	if len(subjects) == 0 {
		return []modules.Effect{modules.Anything}
	}
	effects := []modules.Effect{modules.Elsewhere}
	for _, s := range subjects {
		thing, _, _ := strings.Cut(s, "\n")
		if strings.HasPrefix(thing, "service ") && modules.IsEvent(j.resource) { // which may stop it
			effects = append(effects, modules.Effect{Kind: modules.KindEffect, Key: string(modules.UnitEffect)})
		}
		if strings.HasPrefix(thing, "package ") { // which may bring anything
			return []modules.Effect{modules.Anything}
		}
		if path.IsAbs(thing) {
			effects = append(effects, modules.Affects{thing}.Only()...)
		}
	}
	return effects
}

// decode creates the resource of a job, and marks it as secret, as an undo, or as possibly begun.
func (r *run) decode(j *job, entry *wire.Entry) {
	j.resource, j.invalid = r.engine.Decode(entry)
	if t, ok := j.resource.(modules.Informed); ok {
		t.Inform(modules.Circumstances{Sensitive: j.secret, Reversal: entry.Reversal, Again: r.cat.Lock != nil && r.cat.Lock.Again})
	}
}

// exported returns the value that the job has sent as key, or why there is none.
func (j *job) exported(key string) (json.RawMessage, error) {
	return j.exports.value(key, j.status == wire.Skipped, j.changed && !j.predicts())
}

// jobs are the jobs of a run, by the index of their entries.
type jobs []*job

// wentWrong is [wire.Result.WentWrong] of a job that has had its turn.
func (j *job) wentWrong() bool { return j.result != nil && j.result.told().WentWrong() }

// wrong describes what went wrong with the job.
func (j *job) wrong() string {
	if j.result.Unmet {
		return j.entry.Ref() + " was " + unmetRequirement + " " + j.result.Because
	}
	return j.entry.Ref() + " has failed"
}

// unmetRequirement is CCM's text for a job that is skipped because of its requirements.
const unmetRequirement = "skipped due to unmet requirement"

// requirements finds the required entries that rule a job out, and the doubt that they do not.
func (all jobs) requirements(j *job) (unmet []string, doubt forecast.Doubt) {
	unmet = slices.Clone(j.entry.Unmet)
	for i := range wire.Requirements(j.entry) {
		other := all[i]
		if ref := other.entry.Ref(); other.wentWrong() && !slices.Contains(unmet, ref) {
			unmet = append(unmet, ref)
		}
		doubt = doubt.Or(other.blamed())
	}
	return unmet, doubt.Or(j.scope.mayBeEndedBy())
}

// findExports finds the requested values of each job, and the jobs that are secret because they receive from a secret
// one.
func (all jobs) findExports() {
	for _, j := range all {
		for _, from := range j.entry.Receive {
			if from.From >= 0 {
				sender := all[from.From]
				sender.exports.want(from.Key)
				j.secret = j.secret || sender.secret
			}
		}
		for _, key := range j.entry.Export {
			j.exports.want(key)
		}
	}
}

// A scope is a manifest of the catalog, the play's own or a nested one, or a block, or a part of
// that.
type scope struct {
	outer       *scope         // nil if it is the play's own
	block       *block         // set if it is a block: then its parts have its members
	after       *scope         // scope whose failure starts it; nil if it is not a rescue
	rescued     bool           // a rescue waits for its failure
	failOnError bool           // a failure ends it
	members     []*job         // without the members of inner scopes
	endedBy     string         // the entry that has ended it
	endedHow    string         // failure of that entry
	doubtful    forecast.Doubt // an entry whose failure would end it
}

// endWith ends the scope because of a job that went wrong, if a failure ends the scope.
func (s *scope) endWith(j *job) {
	if s.failOnError && s.endedBy == "" {
		s.endedBy, s.endedHow = j.entry.Ref(), j.wrong()
	}
}

// ended names the entry whose failure has ended the scope, or one that it is in; "" if
// none has.
func (s *scope) ended() string {
	if s = s.ending(); s != nil {
		return s.endedBy
	}
	return ""
}

// ending is the scope that has ended: this one, or one that it is in; nil if none has. A block
// that has begun is brought to its end.
func (s *scope) ending() *scope {
	for ; s != nil && s.endedBy == ""; s = s.outer {
		if s.outer.hasBegun() && s != s.outer.block.main {
			return nil
		}
	}
	return s
}

// mayBeEndedBy is the doubt that no failure ends the scope or an outer one.
func (s *scope) mayBeEndedBy() (doubt forecast.Doubt) {
	for ; s != nil; s = s.outer {
		if s.failOnError {
			doubt = doubt.Or(s.doubtful)
		}
	}
	return doubt
}
