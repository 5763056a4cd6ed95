package schedule

import (
	"iter"
	"math/bits"

	"github.com/ccm-push/ccm-push/modules"
)

// Requirements gives the entries that rule an entry out if they fail.
func Requirements(e *modules.Entry) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, j := range e.Require {
			if !yield(j) {
				return
			}
		}
		for _, from := range e.Receive {
			if from.From >= 0 && !yield(from.From) {
				return
			}
		}
	}
}

// Dependencies gives the entries that i begins after, directly.
func Dependencies(entries []modules.Entry, i int) iter.Seq[int] {
	return func(yield func(int) bool) {
		e := &entries[i]
		for j := range Requirements(e) {
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

// MaxGraph bounds the entries of a graph whose [Ancestors] are found: that takes memory
// with the square of their number, here 4 MiB. Check runs of larger ones are taken for
// lists, in which everything comes after all that stands before it.
const MaxGraph = 8192

// Ancestors are, by entry, those that it comes after along edges.
type Ancestors []Set

// FindAncestors follows the dependencies of all entries.
func FindAncestors(entries []modules.Entry) Ancestors {
	all := make(Ancestors, len(entries))
	for i := range entries {
		all[i] = NewSet(i)
		for j := range Dependencies(entries, i) {
			if all[i].Has(j) {
				continue
			}
			all[i].Put(j)
			for word, set := range all[j] {
				all[i][word] |= set
			}
		}
	}
	return all
}

// A Set has a bit for each entry.
type Set []uint64

// NewSet is an empty set, with room for the first n entries.
func NewSet(n int) Set { return make(Set, (n+63)/64) }

// Has reports whether i is in the set.
func (s Set) Has(i int) bool { return i/64 < len(s) && s[i/64]&(1<<(i%64)) != 0 }

// Put adds i, for which there has to be room.
func (s Set) Put(i int) { s[i/64] |= 1 << (i % 64) }

// FirstIn gives the first entry of s that is in another set, too, which has room for all
// that are in s.
func (s Set) FirstIn(other Set) (i int, ok bool) {
	for word, set := range s {
		if both := set & other[word]; both != 0 {
			return word*64 + bits.TrailingZeros64(both), true
		}
	}
	return 0, false
}
