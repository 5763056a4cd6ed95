package tight

// headerOrder is the order of the lengths of the header's own code.
var headerOrder = [...]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// run is one symbol of the header with the extra bits that follow it.
type run struct {
	symbol int
	value  uint32
	extra  uint
}

// code is a block's dynamic code.
type code struct {
	literal, distance []uint8 // lengths
	header            []uint8
	runs              []run
	ordered           int // how many lengths of the header's code are written
}

// codeOf is the code that suits a block.
func codeOf(h *histogram) *code {
	literal := h.literal
	literal[endOfBlock] = 1
	c := &code{literal: lengthsOf(literal[:], maxCode), distance: lengthsOf(h.distance[:], maxCode)}
	// Some readers want a distance code of at least two symbols.
	for i, used := 0, usedIn(c.distance); used < 2; i++ {
		if c.distance[i] == 0 {
			c.distance[i] = 1
			used++
		}
	}
	c.literal = trimmed(c.literal, endOfBlock+1)
	c.distance = trimmed(c.distance, 1)
	c.runs = runsOf(append(append([]uint8(nil), c.literal...), c.distance...))
	counts := make([]int, len(headerOrder))
	for _, r := range c.runs {
		counts[r.symbol]++
	}
	c.header = lengthsOf(counts, maxHeaderCode)
	c.ordered = len(headerOrder)
	for c.ordered > 4 && c.header[headerOrder[c.ordered-1]] == 0 {
		c.ordered--
	}
	return c
}

func usedIn(lengths []uint8) (n int) {
	for _, l := range lengths {
		if l > 0 {
			n++
		}
	}
	return n
}

func trimmed(lengths []uint8, least int) []uint8 {
	for len(lengths) > least && lengths[len(lengths)-1] == 0 {
		lengths = lengths[:len(lengths)-1]
	}
	return lengths
}

// runsOf writes lengths with repetitions (RFC 1951, 3.2.7).
func runsOf(lengths []uint8) []run {
	var runs []run
	for i := 0; i < len(lengths); {
		n := 1
		for i+n < len(lengths) && lengths[i+n] == lengths[i] {
			n++
		}
		value := int(lengths[i])
		i += n
		if value > 0 {
			runs = append(runs, run{symbol: value})
			n--
		}
		for n >= 3 {
			switch {
			case value > 0:
				part := min(n, 6)
				if n-part == 1 || n-part == 2 { // leave enough for another one
					part = max(3, n-3)
					part = min(part, 6)
				}
				runs = append(runs, run{16, uint32(part - 3), 2})
				n -= part
			case n >= 11:
				part := min(n, 138)
				runs = append(runs, run{18, uint32(part - 11), 7})
				n -= part
			default:
				runs = append(runs, run{17, uint32(n - 3), 3})
				n = 0
			}
		}
		for ; n > 0; n-- {
			runs = append(runs, run{symbol: value})
		}
	}
	return runs
}

// size is how many bits a block takes.
func (h *histogram) size() int {
	c := codeOf(h)
	bits := 3 + 5 + 5 + 4 + 3*c.ordered
	for _, r := range c.runs {
		bits += int(c.header[r.symbol]) + int(r.extra)
	}
	for symbol, n := range h.literal[:len(c.literal)] {
		bits += n * int(c.literal[symbol])
	}
	for symbol := 265; symbol < 285; symbol++ {
		bits += h.literal[symbol] * (symbol - 261) / 4
	}
	for symbol, n := range h.distance[:len(c.distance)] {
		bits += n * int(c.distance[symbol])
		if symbol >= 4 {
			bits += n * (symbol/2 - 1)
		}
	}
	return bits + int(c.literal[endOfBlock])
}

// block writes a block with a code of its own.
func (w *bitWriter) block(tokens []token, last bool) {
	var h histogram
	h.add(tokens)
	c := codeOf(&h)
	final := uint32(0)
	if last {
		final = 1
	}
	w.write(final, 1)
	w.write(2, 2) // a dynamic code
	w.write(uint32(len(c.literal)-257), 5)
	w.write(uint32(len(c.distance)-1), 5)
	w.write(uint32(c.ordered-4), 4)
	for _, symbol := range headerOrder[:c.ordered] {
		w.write(uint32(c.header[symbol]), 3)
	}
	header := codesOf(c.header)
	for _, r := range c.runs {
		w.write(header[r.symbol], uint(c.header[r.symbol]))
		w.write(r.value, r.extra)
	}
	literal, distance := codesOf(c.literal), codesOf(c.distance)
	for _, t := range tokens {
		if t.distance == 0 {
			w.write(literal[t.length], uint(c.literal[t.length]))
			continue
		}
		symbol, extra := lengthCode(int(t.length))
		w.write(literal[symbol], uint(c.literal[symbol]))
		w.write(uint32(t.length-minMatch)&(1<<extra-1), extra)
		symbol, extra = distanceCode(int(t.distance))
		w.write(distance[symbol], uint(c.distance[symbol]))
		w.write(uint32(t.distance-1)&(1<<extra-1), extra)
	}
	w.write(literal[endOfBlock], uint(c.literal[endOfBlock]))
}
