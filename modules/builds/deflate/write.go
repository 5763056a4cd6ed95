package deflate

// A bitWriter writes numbers from their lowest bit on, into bytes from their lowest bit on.
type bitWriter struct {
	out  []byte
	bits uint64 // bits that do not fill a byte yet
	n    uint8  // how many bits these are
}

func (w *bitWriter) write(value uint16, n uint8) {
	w.bits |= uint64(value) << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.out = append(w.out, byte(w.bits))
		w.bits >>= 8
	}
}

// align fills the last byte.
func (w *bitWriter) align() {
	if w.n > 0 {
		w.write(0, 8-w.n)
	}
}

// block writes b; last marks the last block.
func (w *bitWriter) block(data []byte, b *block, last bool) {
	k := b.codes
	if last {
		w.write(1, 1)
	} else {
		w.write(0, 1)
	}
	w.write(2, 2) // dynamic codes
	w.write(uint16(len(k.literal)-257), 5)
	w.write(uint16(len(k.distance)-1), 5)
	w.write(uint16(k.treeLengths()-4), 4)
	for _, symbol := range treeOrder[:k.treeLengths()] {
		w.write(uint16(k.treeLength[symbol]), 3)
	}
	tree := assign(k.treeLength)
	for _, s := range k.tree {
		w.write(tree[s.symbol], k.treeLength[s.symbol])
		w.write(uint16(s.extra), s.extraBits)
	}
	literal, distance := assign(k.literal), assign(k.distance)
	at := b.from
	for _, m := range b.steps {
		s := int(data[at])
		if m.distance > 0 {
			s = lengthSymbol(m.length)
		}
		w.write(literal[s], k.literal[s])
		if m.distance > 0 {
			w.extra(m.length-minLength, lengthExtra(s))
			s = distanceSymbol(m.distance)
			w.write(distance[s], k.distance[s])
			w.extra(m.distance-1, distanceExtra(s))
		}
		at += int(m.length)
	}
	w.write(literal[endOfBlock], k.literal[endOfBlock])
}

// extra writes the last n bits of value.
func (w *bitWriter) extra(value uint16, n int) { w.write(value&(1<<n-1), uint8(n)) }
