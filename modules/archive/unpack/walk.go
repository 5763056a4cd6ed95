package unpack

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/ccm-push/ccm-push/modules/archive/format"
)

// An Archive is a file to unpack. No other user may be able to change it.
type Archive struct {
	File   io.ReaderAt
	Size   int64 // bytes
	Format format.Format
	// MaxSize bounds the unpacked contents, in bytes.
	MaxSize int64
	// MaxRatio bounds the unpacked contents, as a multiple of the archive's size, beyond the first 64 MiB; 0 means no
	// such limit.
	MaxRatio int64

	top   []string
	names []string
}

// maxTop is how many names [Archive.Top] returns.
const maxTop = 5

// Top names entries outside of any folder, folders with a slash at their end, once the archive is inspected. If there
// are many, the last name is "…".
func (a *Archive) Top() []string { return a.top }

// Names are the paths in the archive, directories included, once it is inspected.
func (a *Archive) Names() []string { return a.names }

// freeSize is the allowed size of the contents for the smallest archive, in bytes.
const freeSize = 64 << 20

// limit bounds the unpacked contents, in bytes.
func (a *Archive) limit() int64 {
	if a.MaxRatio == 0 || a.Size > a.MaxSize/a.MaxRatio {
		return a.MaxSize
	}
	return min(a.MaxSize, max(freeSize, a.Size*a.MaxRatio))
}

func (a *Archive) tooLarge() error {
	if a.limit() < a.MaxSize {
		return fmt.Errorf("more than %d times its own size comes out of it", a.MaxRatio)
	}
	return fmt.Errorf("more than %d MiB come out of it", a.MaxSize>>20)
}

// walk visits the entries in order. body is read up to the entry's size at most.
func (a *Archive) walk(ctx context.Context, visit func(e *entry, body io.Reader) error) error {
	if a.Format == format.Zip {
		return a.walkZip(ctx, visit)
	}
	return a.walkTar(ctx, visit)
}

// A gauge reads until its context ends or more comes out than may.
type gauge struct {
	ctx  context.Context
	r    io.Reader
	left int64
	over error
}

func (g *gauge) Read(p []byte) (int, error) {
	if err := g.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := g.r.Read(p[:min(int64(len(p)), g.left+1)])
	if g.left -= int64(n); g.left < 0 {
		return 0, g.over
	}
	return n, err
}

func (a *Archive) walkTar(ctx context.Context, visit func(e *entry, body io.Reader) error) error {
	decompress, ok := decompressors[a.Format]
	if !ok {
		return fmt.Errorf("this program does not read %s", a.Format)
	}
	stream, err := decompress(io.NewSectionReader(a.File, 0, a.Size))
	if err != nil {
		return err
	}
	defer stream.Close()
	out := &gauge{ctx, stream, a.limit(), a.tooLarge()}
	left := a.limit() // remaining total size of files, which may be larger than the stream (sparse files)
	tr := tar.NewReader(out)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, out) // read to the end, where the stream's own checksum is
			return err
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return err
		}
		e, err := tarEntry(h)
		if errors.Is(err, errNotKept) {
			continue
		}
		if err != nil {
			return err
		}
		if left -= e.size; left < 0 {
			return a.tooLarge()
		}
		if err := visit(e, tr); err != nil {
			return err
		}
	}
}

func tarEntry(h *tar.Header) (*entry, error) {
	e := &entry{size: h.Size, modified: h.ModTime}
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil, errNotKept
	case tar.TypeReg, tar.TypeGNUSparse:
		e.kind = file
	case tar.TypeDir:
		e.kind = directory
	case tar.TypeSymlink:
		e.kind = symlink
	case tar.TypeLink:
		e.kind = hardlink
	default:
		return nil, fmt.Errorf("%q is neither a file nor a directory nor a link", h.Name)
	}
	var err error
	if e.name, err = cleanName(h.Name); err != nil {
		return nil, err
	}
	switch e.kind {
	case symlink:
		e.target = h.Linkname
	case hardlink:
		if e.target, err = cleanName(h.Linkname); err != nil {
			return nil, fmt.Errorf("%q is a hard link: %w", e.name, err)
		}
	}
	if e.kind != file {
		e.size = 0
	}
	e.mode = keptMode(e.kind, fs.FileMode(h.Mode&0o777))
	return e, nil
}

// maxDirectory bounds the list of contents of a zip file, in bytes.
const maxDirectory = 64 << 20

// A budget is a file of which only so much may be read.
type budget struct {
	io.ReaderAt
	left int64
}

var errDirectory = fmt.Errorf("its list of contents is longer than %d MiB", maxDirectory>>20)

func (b *budget) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errDirectory
	}
	return b.ReaderAt.ReadAt(p, at)
}

func (a *Archive) walkZip(ctx context.Context, visit func(e *entry, body io.Reader) error) error {
	read := &budget{a.File, maxDirectory}
	zr, err := zip.NewReader(read, a.Size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return err
	}
	read.left = 1<<63 - 1
	left := a.limit()
	for _, f := range zr.File {
		e, err := zipEntry(f)
		if errors.Is(err, errNotKept) {
			continue
		}
		if err != nil {
			return err
		}
		if e.size > left {
			return a.tooLarge()
		}
		left -= e.size
		if err := a.visitZip(ctx, f, e, visit); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) visitZip(ctx context.Context, f *zip.File, e *entry, visit func(e *entry, body io.Reader) error) error {
	if e.kind == directory {
		return visit(e, strings.NewReader(""))
	}
	body, err := f.Open()
	if err != nil {
		return fmt.Errorf("%q: %w", e.name, err)
	}
	defer body.Close()
	in := &gauge{ctx, body, e.size, fmt.Errorf("%q is larger than its size in the archive", e.name)}
	if e.kind != symlink {
		return visit(e, in)
	}
	target, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("%q: %w", e.name, err)
	}
	e.target, e.size = string(target), 0
	return visit(e, strings.NewReader(""))
}

// maxTarget is the longest target of a link, in bytes.
const maxTarget = 4096

func zipEntry(f *zip.File) (*entry, error) {
	if strings.ContainsRune(f.Name, '\\') { // some programs write their own separator
		return nil, fmt.Errorf("%q has a backslash in its name", f.Name)
	}
	if f.UncompressedSize64 > 1<<62 {
		return nil, fmt.Errorf("%q has an impossible size", f.Name)
	}
	e := &entry{size: int64(f.UncompressedSize64), modified: f.Modified}
	switch mode := f.Mode(); {
	case strings.HasSuffix(f.Name, "/") || mode.IsDir():
		e.kind, e.size = directory, 0
	case mode.Type() == fs.ModeSymlink:
		e.kind = symlink
		if e.size > maxTarget {
			return nil, fmt.Errorf("%q is a link to a path of more than %d bytes", f.Name, maxTarget)
		}
	case mode.IsRegular():
		e.kind = file
	default:
		return nil, fmt.Errorf("%q is neither a file nor a directory nor a link", f.Name)
	}
	var err error
	if e.name, err = cleanName(f.Name); err != nil {
		return nil, err
	}
	if f.Flags&1 != 0 {
		return nil, fmt.Errorf("%q is encrypted", f.Name)
	}
	e.mode = keptMode(e.kind, f.Mode())
	return e, nil
}
