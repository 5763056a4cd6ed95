package tight

import (
	"math"
	"slices"
)

const (
	maxTries = 250  // earlier places that are looked at for a match
	rounds   = 8    // of finding tokens for a code and a code for the tokens
	unit     = 2048 // tokens between two places where a block may end
)

// A match says how far back there is a copy, of up to that length.
type match struct{ length, distance uint16 }

// matches are, of the bytes from start on, all matches that may be of use: the nearest
// copy for each length, by rising length.
type matches struct {
	start int
	first []int32 // of a byte, in all; one more at the end
	all   []match
}

// findMatches looks at b[start:end], and for copies also before it.
func findMatches(b []byte, start, end int) *matches {
	m := &matches{start: start, first: make([]int32, 0, end-start+1)}
	const buckets = 1 << 16
	head := make([]int32, buckets) // the last place of a hash, plus one
	from := max(0, start-maxDistance)
	before := make([]int32, end-from) // the place before of the same hash, plus one
	for at := from; at < end; at++ {
		if at >= start {
			m.first = append(m.first, int32(len(m.all)))
		}
		if at+minMatch > end {
			continue
		}
		hash := (uint32(b[at])<<16 | uint32(b[at+1])<<8 | uint32(b[at+2])) * 0x9e3779b1 >> 16
		if at >= start {
			m.find(b, at, end, from, int(head[hash])-1, before)
		}
		before[at-from] = head[hash]
		head[hash] = int32(at) + 1
	}
	m.first = append(m.first, int32(len(m.all)))
	return m
}

func (m *matches) find(b []byte, at, end, from, candidate int, before []int32) {
	best, most := minMatch-1, min(maxMatch, end-at)
	for range maxTries {
		if candidate < 0 || at-candidate > maxDistance {
			return
		}
		if b[candidate+best] == b[at+best] {
			n := 0
			for n < most && b[candidate+n] == b[at+n] {
				n++
			}
			if n > best {
				m.all = append(m.all, match{uint16(n), uint16(at - candidate)})
				if best = n; best == most {
					return
				}
			}
		}
		candidate = int(before[candidate-from]) - 1
	}
}

// at gives the matches of a byte.
func (m *matches) at(pos int) []match {
	return m.all[m.first[pos-m.start]:m.first[pos-m.start+1]]
}

// costs are what symbols take, with their extra bits, in parts of a bit.
type costs struct {
	literal  [256]uint32
	length   [maxMatch + 1]uint32
	distance [distances]uint32
}

// bit is the price of one bit.
const bit = 256

// firstCosts are a guess.
func firstCosts() *costs {
	var h histogram
	for i := range h.literal {
		h.literal[i] = 2
		if i > endOfBlock {
			h.literal[i] = 12
		}
	}
	for i := range h.distance {
		h.distance[i] = 1
	}
	return costsOf(&h)
}

// costsOf is what symbols would cost in an ideal code.
func costsOf(h *histogram) *costs {
	prices := func(counts []int) []uint32 {
		total := 0
		for _, n := range counts {
			total += n
		}
		list := make([]uint32, len(counts))
		for i, n := range counts {
			// One that is not used would get a long code.
			list[i] = uint32(math.Round(bit * math.Log2(float64(max(total, 1))/max(float64(n), 0.5))))
		}
		return list
	}
	literal, distance := prices(h.literal[:]), prices(h.distance[:])
	c := &costs{}
	copy(c.literal[:], literal)
	for n := minMatch; n <= maxMatch; n++ {
		symbol, extra := lengthCode(n)
		c.length[n] = literal[symbol] + bit*uint32(extra)
	}
	for symbol := range c.distance {
		c.distance[symbol] = distance[symbol]
		if symbol >= 4 {
			c.distance[symbol] += bit * uint32(symbol/2-1)
		}
	}
	return c
}

// cheapest gives the tokens for b[start:end] that cost least.
func (c *costs) cheapest(b []byte, start, end int, m *matches) []token {
	n := end - start
	price := make([]uint32, n+1) // of the way to a byte
	for i := range price[1:] {
		price[i+1] = math.MaxUint32
	}
	last := make([]token, n+1) // of the way to a byte
	for i := range n {
		here := price[i]
		if p := here + c.literal[b[start+i]]; p < price[i+1] {
			price[i+1], last[i+1] = p, token{length: uint16(b[start+i])}
		}
		length, copies := minMatch, m.at(start+i)
		if k := len(copies); k > 0 && copies[k-1].length == maxMatch {
			length = min(maxMatch, n-i) // of a long repetition, less is never better
		}
		for _, match := range copies {
			symbol, _ := distanceCode(int(match.distance))
			there := here + c.distance[symbol]
			for ; length <= int(match.length) && i+length <= n; length++ {
				if p := there + c.length[length]; p < price[i+length] {
					price[i+length], last[i+length] = p, token{uint16(length), match.distance}
				}
			}
		}
	}
	var tokens []token
	for i := n; i > 0; {
		tokens = append(tokens, last[i])
		i -= last[i].bytes()
	}
	slices.Reverse(tokens)
	return tokens
}

// bytes is how many bytes a token stands for.
func (t token) bytes() int {
	if t.distance == 0 {
		return 1
	}
	return int(t.length)
}

// parse gives the tokens of b[start:end], block by block.
func parse(b []byte, start, end int) [][]token {
	m := findMatches(b, start, end)
	c := firstCosts()
	var tokens []token
	for range 3 {
		tokens = c.cheapest(b, start, end, m)
		var h histogram
		h.add(tokens)
		c = costsOf(&h)
	}
	var blocks [][]token
	for _, block := range split(tokens) {
		length := 0
		for _, t := range block {
			length += t.bytes()
		}
		blocks = append(blocks, improve(b, start, start+length, m, block))
		start += length
	}
	return blocks
}

// improve finds better tokens for a block.
func improve(b []byte, start, end int, m *matches, best []token) []token {
	var h histogram
	h.add(best)
	least := h.size()
	for range rounds {
		next := costsOf(&h).cheapest(b, start, end, m)
		h = histogram{}
		h.add(next)
		size := h.size()
		if size >= least {
			break
		}
		best, least = next, size
	}
	return best
}

// split cuts tokens into blocks: small ones are joined as long as that makes all of
// them smaller, the most profitable pair first.
func split(tokens []token) [][]token {
	type part struct {
		tokens []token
		histogram
		bits int
		gain int // of being joined with the next one
	}
	var parts []*part
	for rest := tokens; ; {
		n := min(unit, len(rest))
		p := &part{tokens: rest[:n]}
		p.add(p.tokens)
		p.bits = p.size()
		parts = append(parts, p)
		if rest = rest[n:]; len(rest) == 0 {
			break
		}
	}
	join := func(a, b *part) *part {
		both := &part{tokens: a.tokens[:len(a.tokens)+len(b.tokens)], histogram: a.histogram}
		both.merge(&b.histogram)
		both.bits = both.size()
		return both
	}
	gain := func(i int) {
		if i >= 0 && i+1 < len(parts) {
			parts[i].gain = parts[i].bits + parts[i+1].bits - join(parts[i], parts[i+1]).bits
		}
	}
	for i := range parts {
		gain(i)
	}
	for len(parts) > 1 {
		best := 0
		for i := range parts[:len(parts)-1] {
			if parts[i].gain > parts[best].gain {
				best = i
			}
		}
		if parts[best].gain <= 0 {
			break
		}
		parts[best] = join(parts[best], parts[best+1])
		parts = slices.Delete(parts, best+1, best+2)
		gain(best - 1)
		gain(best)
	}
	var blocks [][]token
	for _, p := range parts {
		blocks = append(blocks, p.tokens)
	}
	return blocks
}
