package schedule

import (
	"math/bits"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// An Order is the order of the entries of one catalog.
type Order struct {
	cat       *wire.Catalog
	ancestors []Set // entries that precede each entry, by entry; nil before the first use
}

// NewOrder is the order of a catalog.
func NewOrder(cat *wire.Catalog) *Order { return &Order{cat: cat} }

// maxGraph bounds the entries of a graph whose ancestors are computed: that needs memory with the square of their
// number, here 4 MiB. A check run treats larger graphs as lists, in which all earlier entries precede an entry.
const maxGraph = 8192

// IsGraph reports whether doubt follows edges. In a play that is a graph, its author has declared the dependencies. A
// check run relies on them: an unknown effect of one entry puts entries in doubt that come after it along edges, and no
// others. Package forecast handles the exceptions.
func (o *Order) IsGraph() bool { return o.cat.Parallel > 0 && len(o.cat.Entries) <= maxGraph }

// Before returns the entries that precede i.
func (o *Order) Before(i int) Set {
	if o.ancestors == nil {
		o.ancestors = findAncestors(o.cat.Entries)
	}
	return o.ancestors[i]
}

// ComesAfter reports whether the entry i begins after k has ended.
func (o *Order) ComesAfter(i, k int) bool { return k < i && o.Before(i).Has(k) }

// findAncestors returns, by entry, the entries that precede it along edges.
func findAncestors(entries []wire.Entry) []Set {
	all := make([]Set, len(entries))
	for i := range entries {
		all[i] = NewSet(i)
		for j := range wire.Dependencies(entries, i) {
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

// FirstIn returns the first entry of s that is also in other, which must have room for all entries of s.
func (s Set) FirstIn(other Set) (i int, ok bool) {
	for word, set := range s {
		if both := set & other[word]; both != 0 {
			return word*64 + bits.TrailingZeros64(both), true
		}
	}
	return 0, false
}
