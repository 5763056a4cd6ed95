package engine

import (
	"cmp"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
)

// A manifest that ends with its first failure does so at a moment that nobody knows, if
// its resources are worked on at once: those that are neither before nor behind the one
// that fails may have had their turn or not. Which fail is known at the end of a check
// run only, so its results are held back until then.

// holdBack collects results, if those that come later may put them in doubt. tell hands
// them out.
func (r *run) holdBack() (tell func() error) {
	if !r.mayConflict() {
		return func() error { return nil }
	}
	emit := r.emit
	var held []*modules.Result
	r.emit = func(result *modules.Result) error {
		held = append(held, result)
		return nil
	}
	return func() error {
		r.emit = emit
		inDoubt := r.conflictDoubt()
		for _, result := range held {
			r.doubtEnding(result, inDoubt)
			if err := emit(result); err != nil {
				return err
			}
		}
		return nil
	}
}

// doubtEnding puts a result in doubt if its entry is in doubt, by why, or may be left out,
// or may not, or if it follows from one of which that is so.
func (r *run) doubtEnding(result *modules.Result, inDoubt map[int]string) {
	i := result.Index
	if e := &r.cat.Entries[i]; e.Excluded || e.Hidden {
		return
	}
	because := inDoubt[i]
	for j := range schedule.Dependencies(r.cat.Entries, i) {
		if inDoubt[j] != "" {
			because = cmp.Or(because, r.cat.Entries[j].Ref())
		}
	}
	if unmet, _ := r.requirements(i); because == "" && len(unmet) == 0 {
		because = r.endsAtAnyTime(i)
	}
	if because == "" {
		return
	}
	inDoubt[i] = because
	if !result.Uncertain {
		result.Uncertain, result.Because = true, because
	}
}

// mayConflict reports whether a check run is about a graph of which several are worked on
// at once.
func (r *run) mayConflict() bool { return r.cat.Check && r.graph() && r.cat.Parallel > 1 }

// conflicts gives, by entry, one that was looked at later and may come first, and changes
// what the entry has read.
func (r *run) conflicts() map[int]int {
	readers := make([]forecast.Reader, len(r.cat.Entries))
	for i := range readers {
		entry, out := &r.cat.Entries[i], &r.results[i]
		readers[i] = forecast.Reader{
			Entry: i, Reads: r.reads[i], Noop: entry.Check, Failed: out.status == modules.Failed,
			Asked: len(entry.Health) > 0, Acts: out.changed && !out.unknown,
		}
	}
	return r.forecasts.Would.Conflicts(readers, r.comesAfter)
}

// conflictDoubt says why entries are in doubt that others conflict with, and those behind
// them.
func (r *run) conflictDoubt() map[int]string {
	inDoubt := map[int]string{}
	conflicts := r.conflicts()
	if len(conflicts) == 0 {
		return inDoubt
	}
	all := schedule.NewSet(len(r.cat.Entries))
	for i := range r.cat.Entries {
		j, ok := conflicts[i]
		itself := ok
		if !ok {
			j, ok = r.before(i).FirstIn(all)
		}
		if e := &r.cat.Entries[i]; !ok || e.Excluded || e.Hidden {
			continue
		}
		all.Put(i)
		if inDoubt[i] = r.cat.Entries[j].Ref(); !itself {
			inDoubt[i] = r.blamed(j)
		}
		r.results[i].doubt = cmp.Or(r.results[i].doubt, inDoubt[i])
	}
	return inDoubt
}

// endsAtAnyTime names an entry that fails or may fail, that ends a manifest with i in it
// then, and of which nobody knows whether it has its turn before i. What has been left out
// may fail as well: it may have its turn before whatever has failed.
func (r *run) endsAtAnyTime(i int) string {
	for scope := r.scopes.of[i]; ; scope = r.scopes.of[scope] {
		ends := r.failOnError(scope)
		for j := 0; ends && j < len(r.results); j++ {
			out := &r.results[j]
			fails := out.status == modules.Failed || out.unmet
			if j == i || r.scopes.of[j] != scope || !fails && out.doubt == "" {
				continue
			}
			if !r.comesAfter(j, i) && !(fails && r.comesAfter(i, j)) {
				if fails {
					return r.cat.Entries[j].Ref()
				}
				return r.blamed(j)
			}
		}
		if scope == noScope {
			return ""
		}
	}
}

// comesAfter reports whether the entry i begins after j has ended.
func (r *run) comesAfter(i, j int) bool { return j < i && r.before(i).Has(j) }
