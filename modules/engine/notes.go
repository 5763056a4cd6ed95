package engine

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
)

// openNotes reads what earlier runs have noted on the host, as far as the catalog has use
// for it.
func (r *run) openNotes() {
	refreshes := func(i int) bool {
		_, ok := r.resources[i].(modules.Refresher)
		return ok || r.errs[i] != nil || len(r.cat.Entries[i].Receive) > 0 // else it has an error of its own
	}
	r.refreshes, r.warning = notes.OpenRefreshes(r.Refreshes, r.cat, &r.Engine.refreshes, r.Now, refreshes)
	var warning string
	if r.reversals, warning = notes.OpenReversals(r.Reversals, r.cat); r.warning == "" {
		r.warning = warning
	}
}

// serve notes that the turn of an entry has ended well.
func (r *run) serve(i int, report modules.Reporter) {
	switch {
	case r.cat.Entries[i].Monitor:
	case r.cat.Check && !r.cat.Entries[i].Check:
		r.refreshes.Predict(i)
	case !r.checked(i):
		if err := r.refreshes.Serve(i, func(target int) bool { return r.results[target].changed }); err != nil {
			report.Message("warning", err.Error())
		}
	}
}

// keepSent notes what an entry has sent, if it has run. If it has not, it gives what was
// noted of the last time.
func (r *run) keepSent(i int, said *said) {
	if err := r.sent.Open(); err != nil {
		said.Message("warning", "what was sent in earlier runs cannot be read: "+err.Error())
	}
	out := &r.results[i]
	properties := out.properties
	if properties == nil {
		properties = r.cat.Entries[i].Properties
	}
	key := notes.SentKey(&r.cat.Entries[i], properties)
	if out.changed && !r.checked(i) {
		if err := r.sent.Note(key, out.sent, r.Now()); err != nil {
			said.Message("warning", "what it has sent is not kept for runs in which it has nothing to do: "+err.Error())
		}
		return
	}
	for name, value := range r.sent.Last(key) {
		if _, here := out.sent[name]; !here && r.traffic.wanted[i][name] {
			out.sent[name] = value
		}
	}
}
