package tight

import "math/bits"

// Sizes of the alphabets, and bounds of matches (RFC 1951, 3.2.5).
const (
	endOfBlock  = 256
	literals    = 286 // literals, the end of the block, lengths
	distances   = 30
	minMatch    = 3
	maxMatch    = 258
	maxDistance = 32 << 10
)

// A token is a literal (distance 0, the byte as length) or a match.
type token struct {
	length   uint16
	distance uint16 // 1 to 32768
}

// lengthCode gives the symbol of a length and how many extra bits follow it.
func lengthCode(length int) (symbol int, extra uint) {
	switch n := length - minMatch; {
	case length == maxMatch:
		return 285, 0
	case n < 8:
		return 257 + n, 0
	default:
		extra = uint(bits.Len(uint(n))) - 3
		return 257 + int(extra)*4 + n>>extra, extra
	}
}

// distanceCode gives the symbol of a distance and how many extra bits follow it.
func distanceCode(distance int) (symbol int, extra uint) {
	n := distance - 1
	if n < 4 {
		return n, 0
	}
	extra = uint(bits.Len(uint(n))) - 2
	return int(extra)*2 + n>>extra, extra
}

// histogram counts the symbols of a block.
type histogram struct {
	literal  [literals]int
	distance [distances]int
}

func (h *histogram) add(tokens []token) {
	for _, t := range tokens {
		if t.distance == 0 {
			h.literal[t.length]++
			continue
		}
		symbol, _ := lengthCode(int(t.length))
		h.literal[symbol]++
		symbol, _ = distanceCode(int(t.distance))
		h.distance[symbol]++
	}
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.literal {
		h.literal[i] += n
	}
	for i, n := range other.distance {
		h.distance[i] += n
	}
}
