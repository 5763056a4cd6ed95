// Package decompress reads the compressions that the standard library does not
// have. It is linked into the full host program only.
package decompress

import (
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
)

// What a stream may make its reader remember, in bytes: a stream names it itself.
const (
	maxDictionary = 64 << 20  // as xz -9 has it
	maxWindow     = 128 << 20 // as zstd --ultra -22 has it; --long may want more
)

// XZ reads an xz stream.
func XZ(r io.Reader) (io.ReadCloser, error) {
	x, err := xz.NewReader(r, maxDictionary)
	return io.NopCloser(x), err
}

// Zstd reads a Zstandard stream.
func Zstd(r io.Reader) (io.ReadCloser, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}
