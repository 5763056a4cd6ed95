package tight

import (
	"encoding/binary"
	"hash/crc32"
)

// chunk is how many bytes are looked at together: what is noted of each takes memory.
const chunk = 1 << 20

// Gzip gives b as a gzip file (RFC 1952) that holds neither name nor time.
func Gzip(b []byte) []byte {
	const best, unknownSystem = 2, 255
	w := &bitWriter{out: []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, best, unknownSystem}}
	for start := 0; ; start += chunk {
		end := min(start+chunk, len(b))
		blocks := parse(b, start, end)
		for i, block := range blocks {
			w.block(block, end == len(b) && i == len(blocks)-1)
		}
		if end == len(b) {
			break
		}
	}
	w.flush()
	w.out = binary.LittleEndian.AppendUint32(w.out, crc32.ChecksumIEEE(b))
	return binary.LittleEndian.AppendUint32(w.out, uint32(len(b)))
}

// bitWriter writes bits as deflate packs them: the first is the lowest of its byte.
type bitWriter struct {
	out  []byte
	bits uint64
	n    uint
}

func (w *bitWriter) write(value uint32, n uint) {
	w.bits |= uint64(value) << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.out = append(w.out, byte(w.bits))
		w.bits >>= 8
	}
}

func (w *bitWriter) flush() {
	if w.n > 0 {
		w.out = append(w.out, byte(w.bits))
		w.bits, w.n = 0, 0
	}
}
