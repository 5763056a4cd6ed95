package engine

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A job is one entry of a catalog: what it is, and what others have to know of it once it
// has had its turn.
type job struct {
	index      int
	entry      *wire.Entry
	mode       mode
	monitors   bool   // only its health checks run
	reaches    string // why its change needs to be confirmed; "" if it does not
	showsTexts bool   // its result shows what changes in texts, unless it is secret
	scope      *scope // the manifest that it belongs to
	nested     *scope // the manifest that it stands for; nil if it has a resource
	secret     bool   // nothing of what it holds may be shown

	resource modules.Resource // nil if it has none, or not yet
	invalid  error            // why its properties make no resource
	stable   bool             // it was found as it shall be before the first job began
	stableAt int64            // the count of changes of the host then: as long as that stays, it is so still
	finished *notes.Finished  // what it came to before the connection was lost; nil if it has its turn
	cut      *notes.Attempt   // its command that began in an earlier session; nil if none did
	toldCut  bool             // its result says that the command was cut
	undone   *undone          // what it takes back of an earlier run; nil if the play has it
	joint    *joint           // what became of it in the turn of an earlier job; nil if it has its own

	// Its turn and what has come of it:
	result     *result
	prediction *forecast.Prediction // nil if it had no turn
	status     wire.Status          // once it has its result
	intent     bool                 // it is changed since the manifest has changed, or would be
	changed    bool                 // or would change, whatever became of it later
	leftOut    bool                 // skipped since its scope has ended
	doubt      string               // what its prediction depends on
	restarting bool                 // the host goes down for it
	elsewhere  bool                 // another host ran it
	exports    exports
	replay     func() // has the forecast told again what is predicted of it; nil if nothing is
}

// A joint is what became of a job in the turn of an earlier one: all that is left is to
// report it.
type joint struct {
	plan modules.Plan
	said *said
	err  error
}

// A mode is what is done about a job.
type mode int

const (
	modeApply   mode = iota // it is carried out
	modePredict             // it is predicted, in a check run: jobs behind it see the host as it would be then
	modeNoop                // it is never carried out: only other noop jobs see the host as it would be then
)

// predicts reports whether the job is only predicted.
func (j *job) predicts() bool { return j.mode != modeApply }

// diffs reports whether the result shows what changes in texts.
func (j *job) diffs() bool { return j.showsTexts && !j.secret }

// sees reports whether what another job changes, or would change, counts for this one.
func (j *job) sees(other *job) bool { return other.mode != modeNoop || j.mode == modeNoop }

// ownTurn reports whether the job is worked on by itself whatever its type: it is
// tried again, waits, is asked, runs elsewhere, or has to do with what was there before.
func (j *job) ownTurn() bool {
	e := j.entry
	return j.finished != nil || e.On != "" || e.Once || e.Retry > 0 || e.Timeout > 0 || len(e.Sema) > 0 || len(e.Receive) > 0 || e.Query != "" || e.Hidden || e.Reverse || e.Reversal
}

// blamed names what those depend on that depend on this job, which is in doubt: itself if
// it would change something, or else what has put it in doubt.
func (j *job) blamed() string {
	if j.status != wire.Changed {
		return j.doubt
	}
	return j.entry.Ref()
}

// decode makes the resource of a job, and tells it if nothing of it may be shown, if it undoes
// another one, and if it may have been begun.
func (r *run) decode(j *job, entry *wire.Entry) {
	j.resource, j.invalid = r.engine.Decode(entry)
	if t, ok := j.resource.(modules.Informed); ok {
		t.Inform(modules.Circumstances{Sensitive: j.secret, Reversal: entry.Reversal, Again: r.cat.Lock != nil && r.cat.Lock.Again})
	}
}

// exported gives what the job has sent as key, or why there is no such value.
func (j *job) exported(key string) (json.RawMessage, error) {
	return j.exports.value(key, j.status == wire.Skipped, j.changed && !j.predicts())
}

// jobs are those of a run, by the index of their entries.
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

// requirements finds the required entries that rule a job out, and what makes it
// uncertain that they do not.
func (all jobs) requirements(j *job) (unmet []string, doubt string) {
	unmet = slices.Clone(j.entry.Unmet)
	for i := range wire.Requirements(j.entry) {
		other := all[i]
		if ref := other.entry.Ref(); other.wentWrong() && !slices.Contains(unmet, ref) {
			unmet = append(unmet, ref)
		}
		if other.doubt != "" && doubt == "" {
			doubt = other.blamed()
		}
	}
	return unmet, cmp.Or(doubt, j.scope.mayBeEndedBy())
}

// findExports finds which values are wanted of which job, and which jobs are secret since
// they receive from one that is.
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
	outer       *scope // nil if it is the play's own
	block       *block // set if it is a block: then its parts have its members
	after       *scope // whose failure it waits for; nil if it is no rescue
	rescued     bool   // a rescue waits for its failure
	failOnError bool   // a failure ends it
	members     []*job // without those of scopes in it
	endedBy     string // the entry that has ended it
	endedHow    string // what went wrong with that entry
	doubtful    string // its first uncertain entry, which may end it
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

// mayBeEndedBy names the first uncertain entry that, if it fails, ends the scope or one
// that it is in; "" if there is none.
func (s *scope) mayBeEndedBy() string {
	for ; s != nil; s = s.outer {
		if s.doubtful != "" && s.failOnError {
			return s.doubtful
		}
	}
	return ""
}
