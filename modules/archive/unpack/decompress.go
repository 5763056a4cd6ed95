package unpack

import (
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"

	"github.com/ccm-push/ccm-push/modules/archive/format"
)

// Memory limits of the reader of a stream, in bytes: the stream itself names the size.
const (
	maxDictionary = 64 << 20  // as xz -9 has it
	maxWindow     = 128 << 20 // as zstd --ultra -22 has it; --long may want more
)

// decompressors return the reader for the content of a stream in a tar format.
var decompressors = map[format.Format]func(io.Reader) (io.ReadCloser, error){
	format.Tar:     func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(r), nil },
	format.TarGzip: func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
	format.TarXZ: func(r io.Reader) (io.ReadCloser, error) {
		x, err := xz.NewReader(r, maxDictionary)
		return io.NopCloser(x), err
	},
	format.TarZstd: func(r io.Reader) (io.ReadCloser, error) {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	},
}
