package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Contents are the contents of one host's catalog, by SHA-256. The host may request only these.
type Contents struct {
	texts     map[string][]byte // rendered
	files     map[string]sourceFile
	downloads map[string]*fetched // by token
	from      *Downloads
	bundle    *bundle // shared with other hosts; nil if none is needed
}

// A sourceFile is a file of the play's folder at the time when it was hashed.
type sourceFile struct {
	sources *sources
	name    string
	size    int64
}

// errFileChanged means that a file no longer matches its hash.
var errFileChanged = errors.New("the file changed during the run")

// Has reports whether a content is of the host's catalog.
func (c Contents) Has(digest string) bool {
	_, text := c.texts[digest]
	_, file := c.files[digest]
	return text || file || c.Promised(digest) || c.bundle.has(digest)
}

// Open returns the bytes of a content and their number.
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

// Promised reports whether a content has to be waited for before it is opened.
func (c Contents) Promised(digest string) bool { return c.downloads[digest] != nil }

// Await waits until a promised content can be opened, or until ctx ends.
func (c Contents) Await(ctx context.Context, digest string) {
	if f := c.downloads[digest]; f != nil {
		c.from.await(ctx, f)
	}
}
