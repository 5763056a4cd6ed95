package engine

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
)

// openNotes reads what earlier runs have noted on the host, as far as the catalog has use
// for it.
func (r *run) openNotes() {
	refreshes := func(i int) bool {
		j := r.jobs[i]
		_, ok := j.resource.(modules.Refresher)
		return ok || j.invalid != nil || len(j.entry.Receive) > 0 // else it has an error of its own
	}
	e := r.engine
	r.refreshes, r.warning = notes.OpenRefreshes(e.Refreshes, r.cat, &r.history.refreshes, e.Now, refreshes)
	var warning string
	if r.reversals, warning = notes.OpenReversals(e.Reversals, r.cat); r.warning == "" {
		r.warning = warning
	}
}

// serve notes that the turn of the job has ended well.
func (j *job) serve() {
	switch {
	case j.entry.Monitor:
	case j.mode == modePredict:
		j.run.refreshes.Predict(j.index)
	case j.mode == modeApply:
		if err := j.run.refreshes.Serve(j.index, func(target int) bool { return j.run.jobs[target].changed }); err != nil {
			j.said.Message("warning", err.Error())
		}
	}
}

// keepSent notes what the job has sent, if it has run. If it has not, it gives what was
// noted of the last time.
func (j *job) keepSent() {
	kept := j.run.history.sent
	if err := kept.Open(); err != nil {
		j.said.Message("warning", "what was sent in earlier runs cannot be read: "+err.Error())
	}
	properties := j.properties
	if properties == nil {
		properties = j.entry.Properties
	}
	key := notes.SentKey(j.entry, properties)
	if j.changed && !j.predicts() {
		if err := kept.Note(key, j.sent, j.run.engine.Now()); err != nil {
			j.said.Message("warning", "what it has sent is not kept for runs in which it has nothing to do: "+err.Error())
		}
		return
	}
	for name, value := range kept.Last(key) {
		if _, here := j.sent[name]; !here && j.wanted[name] {
			j.sent[name] = value
		}
	}
}
