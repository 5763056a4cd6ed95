package deflate

// pieceSize is the least size of a block, in bytes.
const pieceSize = 4 << 10

// A block is a part of the input with codes of its own.
type block struct {
	from, to int // the bytes that it holds
	steps    []match
	counts   counts
	codes    *codes
	size     int // in bits
}

func newBlock(data []byte, steps []match, from, to int) *block {
	b := &block{from: from, to: to, steps: steps}
	b.counts.add(steps, data, from)
	b.encode()
	return b
}

func (b *block) encode() {
	b.counts.literal[endOfBlock] = 1
	b.codes = newCodes(&b.counts)
	b.size = b.codes.size(&b.counts)
}

// split cuts a region into blocks. It begins with pieces of the smallest size, and joins neighbours that are smaller
// with shared codes than with two of their own, the greatest gain first.
func split(f *finder, from, to int) []*block {
	steps := guess().cheapest(f, from, to)
	var all counts
	all.add(steps, f.data, from)
	all.literal[endOfBlock] = 1
	steps = all.costs().cheapest(f, from, to)

	var blocks []*block
	at, start, first := from, from, 0
	for i, m := range steps {
		at += int(m.length)
		if at-start >= pieceSize || at == to {
			blocks = append(blocks, newBlock(f.data, steps[first:i+1], start, at))
			start, first = at, i+1
		}
	}
	if len(blocks) == 0 {
		return []*block{newBlock(f.data, nil, from, to)}
	}
	joined := make([]*block, len(blocks)) // each with the next one
	for i := range len(blocks) - 1 {
		joined[i] = join(blocks[i], blocks[i+1])
	}
	for {
		best, gain := 0, 0
		for i, j := range joined[:len(blocks)-1] {
			if g := blocks[i].size + blocks[i+1].size - j.size; g > gain {
				best, gain = i, g
			}
		}
		if gain == 0 {
			return blocks
		}
		blocks[best] = joined[best]
		blocks = append(blocks[:best+1], blocks[best+2:]...)
		joined = append(joined[:best], joined[best+1:]...)
		if best > 0 {
			joined[best-1] = join(blocks[best-1], blocks[best])
		}
		if best < len(blocks)-1 {
			joined[best] = join(blocks[best], blocks[best+1])
		}
	}
}

// join is a and b, which follows it, as one block, without steps.
func join(a, b *block) *block {
	j := &block{from: a.from, to: b.to, counts: a.counts}
	j.counts.merge(&b.counts)
	j.encode()
	return j
}

// smallest is b with the steps that take the fewest bits.
func (b *block) smallest(f *finder) *block {
	best, costs := b, b.counts.costs()
	for range rounds {
		again := newBlock(f.data, costs.cheapest(f, b.from, b.to), b.from, b.to)
		if best.steps == nil || again.size < best.size {
			best = again
		}
		costs = again.counts.costs()
	}
	return best
}
