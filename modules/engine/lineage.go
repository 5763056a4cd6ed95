package engine

import (
	"math/bits"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
)

// In a play that is a graph, its author has said what depends on what. A check run takes
// that at its word: what nobody knows of one entry puts those in doubt that come after it
// along edges, and no others. What it does not take for granted is in package forecast.

// maxLineage bounds the entries of a graph of which it is noted who comes before whom:
// that takes memory with the square of their number, here 4 MiB. Check runs of larger
// ones are taken for lists, in which everything comes after all that stands before it.
const maxLineage = 8192

// A lineage is, by entry, the set of those that it comes after along edges.
type lineage []entrySet

// entrySet has a bit for each entry.
type entrySet []uint64

func (s entrySet) has(i int) bool { return i/64 < len(s) && s[i/64]&(1<<(i%64)) != 0 }

func (s entrySet) put(i int) { s[i/64] |= 1 << (i % 64) }

// waitsFor gives the entries that i begins after, directly.
func waitsFor(entries []modules.Entry, i int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		e := &entries[i]
		for j := range needs(e) {
			if !yield(j) {
				return
			}
		}
		for _, list := range [][]int{e.Subscribe, e.After} {
			for _, j := range list {
				if !yield(j) {
					return
				}
			}
		}
		for j := i - 1; e.Scope != nil && j >= i-e.Scope.Entries; j-- {
			if !yield(j) {
				return
			}
		}
	}
}

// firstIn gives the first entry of s that is in another set, too.
func (s entrySet) firstIn(other entrySet) (i int, ok bool) {
	for word, set := range s {
		if both := set & other[word]; both != 0 {
			return word*64 + bits.TrailingZeros64(both), true
		}
	}
	return 0, false
}

func findLineage(entries []modules.Entry) lineage {
	all := make(lineage, len(entries))
	for i := range entries {
		all[i] = make(entrySet, (i+63)/64)
		for j := range waitsFor(entries, i) {
			if all[i].has(j) {
				continue
			}
			all[i].put(j)
			for word, set := range all[j] {
				all[i][word] |= set
			}
		}
	}
	return all
}

// graph reports whether doubt follows edges.
func (r *run) graph() bool { return r.cat.Parallel > 0 && len(r.cat.Entries) <= maxLineage }

// before gives the entries that i comes after.
func (r *run) before(i int) entrySet {
	if r.lineage == nil {
		r.lineage = findLineage(r.cat.Entries)
	}
	return r.lineage[i]
}

// view is what the entry i comes after, of all that is planned. What has left the
// manifest comes after everything.
func (r *run) view(i int) forecast.View {
	f := r.forecast(i)
	if f.Pending() == "" || !r.graph() || r.cat.Entries[i].Left {
		return f.Everything()
	}
	return f.Behind(r.before(i).has)
}
