package engine

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A manifest of parallel resources ends at an unknown moment after a failure: resources neither before nor after the
// failed one may have had their turn or not. Only at the end of a check run is it known which resources fail, and which
// change a thing that others have read. The results are held back until then.

// A hindsight adds the doubts that are known only at the end of a check run.
type hindsight struct {
	run     *run
	inDoubt map[int]forecast.Doubt // by entry
}

// holdBack collects results if later results may put them in doubt. tell reports the collected results.
func (r *run) holdBack() (tell func() error) {
	if !r.mayConflict() {
		return func() error { return nil }
	}
	emit := r.emit
	var held []*job
	r.emit = func(result *wire.Result) error {
		held = append(held, r.jobs[result.Index])
		return nil
	}
	return func() error {
		r.emit = emit
		h := &hindsight{r, map[int]forecast.Doubt{}}
		h.doubtConflicts()
		for _, j := range held {
			h.doubtEnding(j)
			if err := emit(j.result.told()); err != nil {
				return err
			}
		}
		return nil
	}
}

// doubtConflicts doubts entries that conflict with others, and entries after them.
func (h *hindsight) doubtConflicts() {
	r, conflicts := h.run, h.conflicts()
	if len(conflicts) == 0 {
		return
	}
	all := schedule.NewSet(len(r.jobs))
	for i, j := range r.jobs {
		cause, conflict := conflicts[i]
		ok := conflict
		if !conflict {
			cause, ok = r.order.Before(i).FirstIn(all)
		}
		if !ok || j.entry.Excluded || j.entry.Hidden {
			continue
		}
		all.Put(i)
		if h.inDoubt[i] = (forecast.Doubt{Ref: r.jobs[cause].entry.Ref(), Grade: modules.Unknown}); !conflict {
			h.inDoubt[i] = r.jobs[cause].blamed()
		}
		j.doubt = j.doubt.Or(h.inDoubt[i])
	}
}

// conflicts returns, for an entry, one that was checked later, may run first, and changes a thing that the entry has
// read.
func (h *hindsight) conflicts() map[int]int {
	r := h.run
	readers := make([]forecast.Reader, 0, len(r.jobs))
	for _, j := range r.jobs {
		if j.prediction != nil {
			readers = append(readers, forecast.Reader{
				Entry: j.index, Reads: j.prediction.Reads, Noop: j.mode == modeNoop, Failed: j.status == wire.Failed,
				Asked: len(j.entry.Health) > 0, Acts: j.changed && !j.exports.unknown,
			})
		}
	}
	return r.forecasts.pair.Would.Conflicts(readers, r.order.ComesAfter)
}

// doubtEnding puts the result of a job in doubt if it is unknown whether the job is left out, or if the job depends on
// such a job.
func (h *hindsight) doubtEnding(j *job) {
	if j.entry.Excluded || j.entry.Hidden {
		return
	}
	because := h.inDoubt[j.index]
	for i := range wire.Dependencies(h.run.cat.Entries, j.index) {
		if on := h.inDoubt[i]; on.Any() {
			because = because.Or(forecast.Doubt{Ref: h.run.jobs[i].entry.Ref(), Grade: on.Grade})
		}
	}
	if unmet, _ := h.run.jobs.requirements(j); len(unmet) == 0 {
		because = because.Or(h.endsAtAnyTime(j))
	}
	if !because.Any() {
		return
	}
	h.inDoubt[j.index] = because
	if said := (forecast.Doubt{Ref: j.result.Because, Grade: j.result.Grade}); said.Grade == modules.Certain || said.Or(because) != said {
		j.result.doubt(because)
	}
}

// endsAtAnyTime is the doubt because of an entry that may fail and would then end a manifest that contains the job,
// while the order of the two is unknown. A skipped entry may fail as well: it may have its turn before the entry that failed.
func (h *hindsight) endsAtAnyTime(j *job) (doubt forecast.Doubt) {
	for s := j.scope; s != nil; s = s.outer {
		if !s.failOnError {
			continue
		}
		for _, other := range s.members {
			fails := other.wentWrong()
			if other == j || !fails && !other.doubt.Any() {
				continue
			}
			if !h.run.order.ComesAfter(other.index, j.index) && !(fails && h.run.order.ComesAfter(j.index, other.index)) {
				may := other.blamed()
				if fails {
					may = forecast.Doubt{Ref: other.entry.Ref(), Grade: modules.Unknown}
				}
				doubt = doubt.Or(may)
			}
		}
	}
	return doubt
}
