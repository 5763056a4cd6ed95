package tight

import (
	"math/bits"
	"slices"
)

// lengthsOf gives the lengths of the cheapest prefix code in which none is longer than
// limit: package-merge (Larmore and Hirschberg, 1990).
func lengthsOf(counts []int, limit int) []uint8 {
	type item struct {
		weight  int
		symbols []uint16 // that get one bit longer if it is chosen
	}
	var leaves []item
	for symbol, n := range counts {
		if n > 0 {
			leaves = append(leaves, item{n, []uint16{uint16(symbol)}})
		}
	}
	lengths := make([]uint8, len(counts))
	if len(leaves) == 1 {
		lengths[leaves[0].symbols[0]] = 1
		return lengths
	}
	byWeight := func(a, b item) int { return a.weight - b.weight }
	slices.SortStableFunc(leaves, byWeight)
	list := leaves
	for range limit - 1 {
		var next []item
		for i := 0; i+1 < len(list); i += 2 {
			next = append(next, item{list[i].weight + list[i+1].weight, slices.Concat(list[i].symbols, list[i+1].symbols)})
		}
		list = slices.Concat(leaves, next)
		slices.SortStableFunc(list, byWeight)
	}
	for _, chosen := range list[:max(0, 2*len(leaves)-2)] {
		for _, symbol := range chosen.symbols {
			lengths[symbol]++
		}
	}
	return lengths
}

// codesOf gives the code of each symbol, reversed, as it is written.
func codesOf(lengths []uint8) []uint32 {
	var perLength, next [maxCode + 2]uint32
	for _, n := range lengths {
		perLength[n]++
	}
	perLength[0] = 0
	for n := 1; n <= maxCode; n++ {
		next[n+1] = (next[n] + perLength[n]) << 1
	}
	codes := make([]uint32, len(lengths))
	for symbol, n := range lengths {
		if n > 0 {
			codes[symbol] = bits.Reverse32(next[n]) >> (32 - n)
			next[n]++
		}
	}
	return codes
}

// Bounds of the lengths of codes.
const (
	maxCode       = 15
	maxHeaderCode = 7
)
