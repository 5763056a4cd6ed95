package deflate

import (
	"math"
	"math/bits"
)

// The two alphabets of deflate: literal bytes, the end of a block and lengths; and distances.
const (
	endOfBlock = 256
	literals   = 286
	distances  = 30
)

// counts are how often each symbol occurs.
type counts struct {
	literal  [literals]int
	distance [distances]int
}

func (c *counts) add(steps []match, data []byte, from int) {
	for _, m := range steps {
		if m.distance == 0 {
			c.literal[data[from]]++
		} else {
			c.literal[lengthSymbol(m.length)]++
			c.distance[distanceSymbol(m.distance)]++
		}
		from += int(m.length)
	}
}

func (c *counts) merge(o *counts) {
	for i, n := range o.literal {
		c.literal[i] += n
	}
	for i, n := range o.distance {
		c.distance[i] += n
	}
}

// lengthSymbol is the symbol of a length. Several lengths may share a symbol; the extra bits after it distinguish them.
func lengthSymbol(length uint16) int {
	if length == maxLength {
		return literals - 1
	}
	n := int(length - minLength)
	e := max(bits.Len(uint(n))-3, 0)
	return endOfBlock + 1 + 4*e + n>>e
}

// lengthExtra is how many bits follow a symbol of the first alphabet.
func lengthExtra(symbol int) int {
	if symbol == literals-1 {
		return 0
	}
	return max((symbol-endOfBlock-1)/4-1, 0)
}

func distanceSymbol(distance uint16) int {
	n := int(distance - 1)
	e := max(bits.Len(uint(n))-2, 0)
	return 2*e + n>>e
}

func distanceExtra(symbol int) int { return max(symbol/2-1, 0) }

// costs are the costs of symbols and the extra bits after them, in bits times costUnit. The costs of a whole region fit
// into an int32: no symbol costs more than 20 bits there.
type costs struct {
	literal  [256]int32
	length   [maxLength + 1]int32
	distance [distances]int32
}

const (
	costBits = 6
	costUnit = 1 << costBits
)

// log2 is the logarithm of n in bits, times costUnit. Floating point could differ between machines.
func log2(n int) int32 {
	whole := bits.Len(uint(n)) - 1
	x := uint64(n) << 31 >> whole // from 1 to 2, times 1<<31
	l := int32(whole)
	for range costBits {
		x = x * x >> 31
		l <<= 1
		if x >= 2<<31 {
			x >>= 1
			l++
		}
	}
	return l
}

// guess returns the costs of symbols in an average program.
func guess() *costs {
	c := &costs{}
	for i := range c.literal {
		c.literal[i] = 7 * costUnit
	}
	for i := minLength; i <= maxLength; i++ {
		c.length[i] = int32(6+lengthExtra(lengthSymbol(uint16(i)))) * costUnit
	}
	for i := range c.distance {
		c.distance[i] = int32(5+distanceExtra(i)) * costUnit
	}
	return c
}

// costs are the costs of the symbols of c in the best possible code.
func (c *counts) costs() *costs {
	of := func(list []int) func(symbol int) int32 {
		total := 0
		for _, n := range list {
			total += n
		}
		return func(symbol int) int32 {
			// A symbol that does not occur costs as if it did once.
			return log2(max(total, 1)) - log2(max(list[symbol], 1))
		}
	}
	k := &costs{}
	literal, distance := of(c.literal[:]), of(c.distance[:])
	for i := range k.literal {
		k.literal[i] = literal(i)
	}
	for i := minLength; i <= maxLength; i++ {
		symbol := lengthSymbol(uint16(i))
		k.length[i] = literal(symbol) + int32(lengthExtra(symbol))*costUnit
	}
	for i := range k.distance {
		k.distance[i] = distance(i) + int32(distanceExtra(i))*costUnit
	}
	return k
}

// cheapest is the sequence of literals and matches that costs least, from one position of f to another.
func (k *costs) cheapest(f *finder, from, to int) []match {
	cost := make([]int32, to-from+1) // cost of the cheapest sequence to each position
	last := make([]match, to-from+1) // step of that sequence
	for i := range cost[1:] {
		cost[i+1] = math.MaxInt32
	}
	for i := range to - from {
		if c := cost[i] + k.literal[f.data[from+i]]; c < cost[i+1] {
			cost[i+1], last[i+1] = c, match{length: 1}
		}
		n := minLength
		for _, m := range f.at(from + i) {
			c := cost[i] + k.distance[distanceSymbol(m.distance)]
			end := min(int(m.length), to-from-i)
			if m.length == maxLength { // in a long run, shorter steps are no improvement
				n = max(n, end)
			}
			for ; n <= end; n++ {
				if c := c + k.length[n]; c < cost[i+n] {
					cost[i+n], last[i+n] = c, match{uint16(n), m.distance}
				}
			}
		}
	}
	steps := 0
	for i := to - from; i > 0; i -= int(last[i].length) {
		steps++
	}
	sequence := make([]match, steps)
	for i := to - from; i > 0; i -= int(last[i].length) {
		steps--
		sequence[steps] = last[i]
	}
	return sequence
}
