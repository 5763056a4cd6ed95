package deflate

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	maxCodeLength     = 15
	maxTreeCodeLength = 7 // limit of the code in which the lengths of the others are written
)

// codes are the codes of a block, as the length of each symbol's code in bits; 0 means that it does not occur.
type codes struct {
	literal, distance []uint8
	tree              []treeSymbol // the lengths of the codes, in brief
	treeLength        []uint8      // lengths of the codes of tree symbols
}

// A treeSymbol is a length, or repeats one.
type treeSymbol struct{ symbol, extra, extraBits uint8 }

func newCodes(c *counts) *codes {
	distance := c.distance
	// zlib before 1.2.2 cannot read a block with fewer than two distances (google/zopfli, deflate.c).
	for i := 0; i < 2 && distance[0]+distance[1] < 2; i++ {
		distance[i] = max(distance[i], 1)
	}
	k := &codes{literal: trim(codeLengths(c.literal[:], maxCodeLength)), distance: trim(codeLengths(distance[:], maxCodeLength))}
	k.tree = runs(slices.Concat(k.literal, k.distance))
	var occurs [19]int
	for _, s := range k.tree {
		occurs[s.symbol]++
	}
	k.treeLength = codeLengths(occurs[:], maxTreeCodeLength)
	return k
}

// trim omits the symbols after the last one that occurs.
func trim(lengths []uint8) []uint8 {
	for lengths[len(lengths)-1] == 0 {
		lengths = lengths[:len(lengths)-1]
	}
	return lengths
}

// runs writes lengths so that repeated ones are few symbols: 16 repeats the one before 3 to 6 times,
// 17 and 18 are 3 to 10 and 11 to 138 zeros.
func runs(lengths []uint8) []treeSymbol {
	var tree []treeSymbol
	for i := 0; i < len(lengths); {
		n := 1
		for i+n < len(lengths) && lengths[i+n] == lengths[i] {
			n++
		}
		i += n
		v := lengths[i-1]
		if v != 0 {
			tree = append(tree, treeSymbol{symbol: v})
			n--
		}
		for n >= 3 {
			switch {
			case v != 0:
				r := min(n, 6)
				tree = append(tree, treeSymbol{16, uint8(r - 3), 2})
				n -= r
			case n <= 10:
				tree = append(tree, treeSymbol{17, uint8(n - 3), 3})
				n = 0
			default:
				r := min(n, 138)
				tree = append(tree, treeSymbol{18, uint8(r - 11), 7})
				n -= r
			}
		}
		for ; n > 0; n-- {
			tree = append(tree, treeSymbol{symbol: v})
		}
	}
	return tree
}

// treeOrder is the order in which the lengths of the codes of tree symbols are written.
var treeOrder = [19]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// treeLengths is the number of tree code lengths to write.
func (k *codes) treeLengths() int {
	n := len(treeOrder)
	for k.treeLength[treeOrder[n-1]] == 0 {
		n--
	}
	return n
}

// size is the size of a block with these codes, in bits.
func (k *codes) size(c *counts) int {
	size := 3 + 5 + 5 + 4 + 3*k.treeLengths()
	for _, s := range k.tree {
		size += int(k.treeLength[s.symbol] + s.extraBits)
	}
	for i, n := range k.literal {
		size += c.literal[i] * (int(n) + lengthExtra(i))
	}
	for i, n := range k.distance {
		size += c.distance[i] * (int(n) + distanceExtra(i))
	}
	return size
}

// codeLengths returns the length of the code for each symbol that occurs, so that all together take the fewest bits
// (Larmore and Hirschberg, package-merge): the cheapest leaves and pairs of one level form the pairs of the next. At
// least one symbol must occur.
func codeLengths(counts []int, limit int) []uint8 {
	type item struct{ weight, leaf int } // leaf is a symbol, or -1: a pair of the level before
	var leaves []item
	for symbol, n := range counts {
		if n > 0 {
			leaves = append(leaves, item{n, symbol})
		}
	}
	lengths := make([]uint8, len(counts))
	if len(leaves) == 1 {
		lengths[leaves[0].leaf] = 1
		return lengths
	}
	slices.SortStableFunc(leaves, func(a, b item) int { return cmp.Compare(a.weight, b.weight) })
	levels := make([][]item, limit)
	for i := range levels {
		level, rest := make([]item, 0, 2*len(leaves)), leaves
		if i > 0 {
			below := levels[i-1]
			for ; len(below) >= 2; below = below[2:] {
				pair := item{below[0].weight + below[1].weight, -1}
				for len(rest) > 0 && rest[0].weight <= pair.weight {
					level, rest = append(level, rest[0]), rest[1:]
				}
				level = append(level, pair)
			}
		}
		levels[i] = append(level, rest...)
	}
	take := 2*len(leaves) - 2
	for _, level := range slices.Backward(levels) {
		pairs := 0
		for _, it := range level[:take] {
			if it.leaf < 0 {
				pairs++
			} else {
				lengths[it.leaf]++
			}
		}
		take = 2 * pairs
	}
	return lengths
}

// assign returns the code for each symbol, in the order of writing: the first bit is the lowest.
func assign(lengths []uint8) []uint16 {
	var next [maxCodeLength + 2]uint16
	for _, n := range lengths {
		if n > 0 {
			next[n+1]++
		}
	}
	for n := 1; n < len(next); n++ {
		next[n] = (next[n-1] + next[n]) << 1
	}
	codes := make([]uint16, len(lengths))
	for i, n := range lengths {
		if n > 0 {
			codes[i] = bits.Reverse16(next[n]) >> (16 - n)
			next[n]++
		}
	}
	return codes
}
