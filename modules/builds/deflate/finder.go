package deflate

const (
	window    = 1 << 15 // a match is less than this many bytes before
	minLength = 3
	maxLength = 258
	hashBits  = 16
	// maxDepth is how many earlier positions are searched for the matches of one. Eight times as many make a program 23
	// bytes smaller.
	maxDepth = 64
)

// A match repeats length bytes from distance bytes before. One with distance 0 is a literal byte.
type match struct{ length, distance uint16 }

// A finder finds matches. Earlier positions whose first bytes have the same hash are a binary tree, ordered by the
// bytes that follow, with the newest at the root: the longest matches of a position are on the way down to its place,
// and are found from near to far.
type finder struct {
	data   []byte
	roots  [1 << hashBits]int32
	below  [window][2]int32 // subtrees of a position that order before and after it; its last bits are the index
	from   int              // the first position of found
	found  []match          // matches of one position after the other, with increasing length and distance
	starts []int            // start of the matches of each position in found, and their end
}

func newFinder(data []byte) *finder {
	f := &finder{data: data}
	for i := range f.roots {
		f.roots[i] = -window
	}
	return f
}

// at returns the matches at position i, which must be in the range of the last call of find.
func (f *finder) at(i int) []match { return f.found[f.starts[i-f.from]:f.starts[i-f.from+1]] }

// find finds the matches of each position i, from <= i < to. Earlier positions must have been searched before.
func (f *finder) find(from, to int) {
	f.from, f.found, f.starts = from, f.found[:0], append(f.starts[:0], 0)
	for i := from; i < to; i++ {
		if i+minLength <= len(f.data) {
			f.add(i)
		}
		f.starts = append(f.starts, len(f.found))
	}
}

// add makes position i the root of its tree, and notes the matches that are met.
func (f *finder) add(i int) {
	d := f.data[i:min(i+maxLength, len(f.data))]
	hash := (uint32(d[0]) | uint32(d[1])<<8 | uint32(d[2])<<16) * 0x9e3779b1 >> (32 - hashBits)
	other := int(f.roots[hash])
	f.roots[hash] = int32(i)
	// All positions that order before i go into the left subtree of it, all others into the right one. Positions
	// between two others begin with the bytes that these have in common.
	left, right := &f.below[i%window][0], &f.below[i%window][1]
	leftLength, rightLength, longest := 0, 0, minLength-1
	for depth := 0; i-other < window && depth < maxDepth; depth++ {
		o, n := f.data[other:other+len(d)], min(leftLength, rightLength)
		for n < len(d) && o[n] == d[n] {
			n++
		}
		if n > longest {
			longest = n
			f.found = append(f.found, match{uint16(n), uint16(i - other)})
		}
		subtrees := &f.below[other%window]
		switch {
		case n == len(d): // i takes the place of other
			*left, *right = subtrees[0], subtrees[1]
			return
		case o[n] < d[n]:
			*left, left, leftLength, other = int32(other), &subtrees[1], n, int(subtrees[1])
		default:
			*right, right, rightLength, other = int32(other), &subtrees[0], n, int(subtrees[0])
		}
	}
	*left, *right = -window, -window
}
