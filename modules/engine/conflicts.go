package engine

import (
	"cmp"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
)

// A manifest that ends with its first failure does so at a moment that is not known, if
// its resources are worked on at once: those that are neither before nor behind the one
// that fails may have had their turn or not. Which fail is known at the end of a check
// run only, as is what changes what others have read. So its results are held back until
// then.

// mayConflict reports whether a check run is about a graph of which several are worked on
// at once.
func (r *run) mayConflict() bool { return r.cat.Check && r.graph() && r.cat.Parallel > 1 }

// holdBack collects results, if those that come later may put them in doubt. tell hands
// them out.
func (r *run) holdBack() (tell func() error) {
	if !r.mayConflict() {
		return func() error { return nil }
	}
	emit := r.emit
	var held []*job
	r.emit = func(result *modules.Result) error {
		held = append(held, r.jobs[result.Index])
		return nil
	}
	return func() error {
		r.emit = emit
		inDoubt := r.conflictDoubt()
		for _, j := range held {
			j.doubtEnding(inDoubt)
			if err := emit(j.result); err != nil {
				return err
			}
		}
		return nil
	}
}

// conflictDoubt says why entries are in doubt that others conflict with, and those behind
// them.
func (r *run) conflictDoubt() map[int]string {
	inDoubt := map[int]string{}
	conflicts := r.conflicts()
	if len(conflicts) == 0 {
		return inDoubt
	}
	all := schedule.NewSet(len(r.jobs))
	for i, j := range r.jobs {
		cause, conflict := conflicts[i]
		ok := conflict
		if !conflict {
			cause, ok = r.before(i).FirstIn(all)
		}
		if !ok || j.entry.Excluded || j.entry.Hidden {
			continue
		}
		all.Put(i)
		if inDoubt[i] = r.jobs[cause].entry.Ref(); !conflict {
			inDoubt[i] = r.jobs[cause].blamed()
		}
		j.doubt = cmp.Or(j.doubt, inDoubt[i])
	}
	return inDoubt
}

// conflicts gives, by entry, one that was looked at later and may come first, and changes
// what the entry has read.
func (r *run) conflicts() map[int]int {
	readers := make([]forecast.Reader, 0, len(r.jobs))
	for _, j := range r.jobs {
		if j.prediction != nil {
			readers = append(readers, forecast.Reader{
				Entry: j.index, Reads: j.prediction.Reads, Noop: j.mode == modeNoop, Failed: j.status == modules.Failed,
				Asked: len(j.entry.Health) > 0, Acts: j.changed && !j.unknown,
			})
		}
	}
	return r.forecasts.Would.Conflicts(readers, r.comesAfter)
}

// doubtEnding puts the result in doubt if the entry is in doubt, by why, or may be left
// out, or may not, or if it follows from one of which that is so.
func (j *job) doubtEnding(inDoubt map[int]string) {
	if j.entry.Excluded || j.entry.Hidden {
		return
	}
	because := inDoubt[j.index]
	for i := range schedule.Dependencies(j.run.cat.Entries, j.index) {
		if inDoubt[i] != "" {
			because = cmp.Or(because, j.run.jobs[i].entry.Ref())
		}
	}
	if unmet, _ := j.requirements(); because == "" && len(unmet) == 0 {
		because = j.endsAtAnyTime()
	}
	if because == "" {
		return
	}
	inDoubt[j.index] = because
	if !j.result.Uncertain {
		j.result.Uncertain, j.result.Because = true, because
	}
}

// endsAtAnyTime names an entry that fails or may fail, that ends a manifest with the job
// in it then, and of which it is not known whether it has its turn before the job. What
// has been left out may fail as well: it may have its turn before whatever has failed.
func (j *job) endsAtAnyTime() string {
	for s := j.scope; s != nil; s = s.outer {
		if !s.failOnError {
			continue
		}
		for _, other := range s.members {
			fails := other.status == modules.Failed || other.unmet
			if other == j || !fails && other.doubt == "" {
				continue
			}
			if !j.run.comesAfter(other.index, j.index) && !(fails && j.run.comesAfter(j.index, other.index)) {
				if fails {
					return other.entry.Ref()
				}
				return other.blamed()
			}
		}
	}
	return ""
}
