package unpack

import (
	"compress/gzip"
	"io"

	"github.com/ccm-push/ccm-push/modules/archive/format"
)

// A Decompressor makes the reader of what a compressed stream holds.
type Decompressor func(io.Reader) (io.ReadCloser, error)

// Decompressors are those that a program has besides those of the standard
// library, by format.
type Decompressors map[format.Format]Decompressor

func gunzip(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }

func plain(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(r), nil }

// find gives the decompressor of a tar format.
func (d Decompressors) find(f format.Format) (Decompressor, bool) {
	switch f {
	case format.Tar:
		return plain, true
	case format.TarGzip:
		return gunzip, true
	}
	more, ok := d[f]
	return more, ok
}
