package catalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
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

// source is what preparing resources ask the controller for.
// What they are given becomes part of m.
func (p *compilation) source(m *made, r *manifest.Resource, env *templates.Env) modules.Source {
	return modules.Source{
		File: func(_ context.Context, name string) (modules.Content, error) { return m.file(p.at.sources, name) },
		Text: func(_ context.Context, text modules.Content) (modules.Content, error) { return m.text(text), nil },
		Tree: func(ctx context.Context, request modules.TreeRequest) (*modules.Tree, error) {
			return p.tree(ctx, m, r, env, request)
		},
		Download: func(_ context.Context, request modules.Download) (modules.Content, error) {
			return p.download(m, request)
		},
		Resources: p.at.resourcesSource(m),
		YAML:      p.at.yaml,
		Memo:      p.at.remembered,
		Partial:   len(r.Received()) > 0 || r.Query != "",
	}
}

// text is the content of a rendered text.
func (m *made) text(c modules.Content) modules.Content {
	b, here := c.Bytes()
	if !here || c.Size() <= modules.InlineLimit {
		return c
	}
	m.texts = with(m.texts, c.SHA256(), b)
	m.size += c.Size()
	return c.Hashed()
}

// file is the content of a file of the play.
func (m *made) file(from *sources, name string) (modules.Content, error) {
	c, err := from.content(name)
	if err != nil {
		return modules.Content{}, err
	}
	if _, here := c.Bytes(); !here {
		m.files = with(m.files, c.SHA256(), sourceFile{from, filepath.Clean(name), c.Size()})
	}
	return c, nil
}

func with[V any](m map[string]V, key string, value V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

// sources reads and hashes the files of a play's folder, each once per run.
type sources struct {
	folder string
	root   *os.Root

	mu    sync.Mutex
	known map[string]*hashed

	bundled func() *bundle // its folder resources/; nil if there is none
}

type hashed struct {
	once    sync.Once
	content modules.Content
	err     error
}

func openSources(folder string) (*sources, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	s := &sources{folder: folder, root: root, known: map[string]*hashed{}}
	s.bundled = sync.OnceValue(func() *bundle { return readBundle(s, resourcesFolder) })
	return s, nil
}

func (s *sources) close() { s.root.Close() }

// content gives the content of a file, inline if it is small.
func (s *sources) content(name string) (modules.Content, error) {
	name = filepath.Clean(name)
	s.mu.Lock()
	h := s.known[name]
	if h == nil {
		h = &hashed{}
		s.known[name] = h
	}
	s.mu.Unlock()
	h.once.Do(func() { h.content, h.err = s.hash(name) })
	return h.content, h.err
}

func (s *sources) hash(name string) (modules.Content, error) {
	if filepath.IsAbs(name) {
		return modules.Content{}, fmt.Errorf("%s is an absolute path; give one relative to %s; %s", name, s.folder, templates.FromHost(name))
	}
	f, size, err := s.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return modules.Content{}, fmt.Errorf("there is no file %s in %s", name, templates.FolderName(s.folder))
	case err != nil:
		return modules.Content{}, fmt.Errorf("%s is not a file of the play's folder %s: %w", name, s.folder, unwrapPath(err))
	}
	defer f.Close()
	if size <= modules.InlineLimit {
		b, err := io.ReadAll(io.LimitReader(f, modules.InlineLimit))
		return modules.BytesContent(b), err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err == nil && n <= modules.InlineLimit {
		err = errFileChanged
	}
	return modules.HashedContent(hex.EncodeToString(sum.Sum(nil)), n), err
}

var errNotRegular = errors.New("not a regular file")

// open opens a regular file of the folder and gives its size in bytes.
func (s *sources) open(name string) (*os.File, int64, error) {
	// Without O_NONBLOCK, opening a named pipe would wait for a writer.
	f, err := s.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func unwrapPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
