package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// Contents are the contents of one host's catalog, by SHA-256: what the host may
// ask for, and nothing else.
type Contents struct {
	texts     map[string][]byte // rendered
	files     map[string]sourceFile
	downloads map[string]*fetched // by token
	from      *Downloads
	bundle    *bundle // shared with other hosts; nil if none is needed
}

// sourceFile is a file of the play's folder as it was when it was hashed.
type sourceFile struct {
	sources *sources
	name    string
	size    int64
}

// errFileChanged says that a file is not what its hash promises any more.
var errFileChanged = errors.New("the file changed during the run")

// Has reports whether a content is of the host's catalog.
func (c Contents) Has(digest string) bool {
	_, text := c.texts[digest]
	_, file := c.files[digest]
	return text || file || c.Promised(digest) || c.bundle.has(digest)
}

// Open gives the bytes of a content and their number.
func (c Contents) Open(digest string) (io.ReadCloser, int64, error) {
	if b, ok := c.texts[digest]; ok {
		return io.NopCloser(bytes.NewReader(b)), int64(len(b)), nil
	}
	if f := c.downloads[digest]; f != nil {
		return f.open()
	}
	if b := c.bundle; b.has(digest) {
		return Contents{texts: b.texts, files: b.files}.Open(digest)
	}
	file, ok := c.files[digest]
	if !ok {
		return nil, 0, fmt.Errorf("no content %s: %w", digest, fs.ErrNotExist)
	}
	f, size, err := file.sources.open(file.name)
	if err == nil && size != file.size {
		f.Close()
		return nil, 0, fmt.Errorf("%s: %w", file.name, errFileChanged)
	}
	return f, size, err
}

// maxSent bounds contents that are sent to another machine, in bytes.
const maxSent = 4 << 20

// All gives all contents. What is downloaded, and what comes from the folder resources/, is an error.
func (c Contents) All() (map[string][]byte, error) {
	if len(c.downloads) > 0 || c.bundle != nil {
		return nil, errors.New("what is downloaded, and what needs the folder resources/, does not run on the controller for a worker: run this play without --workers")
	}
	all, size := map[string][]byte{}, int64(0)
	for _, digest := range slices.Concat(slices.Collect(maps.Keys(c.texts)), slices.Collect(maps.Keys(c.files))) {
		r, n, err := c.Open(digest)
		if err != nil {
			return nil, err
		}
		size += n
		if size <= maxSent {
			all[digest], err = io.ReadAll(r)
		}
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
	}
	if size > maxSent {
		return nil, fmt.Errorf("it needs %d bytes on the controller, and a worker sends %d MiB: run this play without --workers", size, maxSent>>20)
	}
	return all, nil
}

// Sent is a catalog that another machine has compiled.
func Sent(c wire.Catalog, contents map[string][]byte, full bool) *Compiled {
	return &Compiled{Catalog: c, Contents: Contents{texts: contents}, NeedsFull: full}
}

// Promised reports whether a content has to be waited for before it is opened.
func (c Contents) Promised(digest string) bool { return c.downloads[digest] != nil }

// Await waits until a promised content can be opened, or until ctx ends.
func (c Contents) Await(ctx context.Context, digest string) {
	if f := c.downloads[digest]; f != nil {
		c.from.await(ctx, f)
	}
}
