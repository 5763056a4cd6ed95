package templates

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
)

// MaxFile bounds what is read from one file of a play, in bytes.
const MaxFile = 16 << 20

// Files is the folder of a play: where templates and file() find their files,
// and nothing outside of it, whatever symbolic links say. What is read or
// parsed is kept, so that a file is the same for every host of a run. It is
// safe for concurrent use.
type Files struct {
	dir  string
	root *os.Root

	contents  cache[[]byte]
	texts     cache[*Text]
	templates cache[*Template]
	scaffolds cache[*ScaffoldTree]
}

// Open opens the folder dir. The caller closes it.
func Open(dir string) (*Files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of the play: %w", err)
	}
	return &Files{dir: dir, root: root}, nil
}

// Close releases the folder. What has been read stays valid.
func (f *Files) Close() error { return f.root.Close() }

// Read gives the bytes of a file, which the caller must not change. name is
// relative to the folder, with slashes.
func (f *Files) Read(name string) ([]byte, error) {
	if f == nil {
		return nil, faultf("no files can be read here")
	}
	if path.IsAbs(name) || filepath.IsAbs(name) {
		return nil, faultf("%q is not below the folder of the play", name).
			withHint("write a path relative to %s", f.dir)
	}
	name = path.Clean(name)
	return f.contents.get(name, func() ([]byte, error) { return f.read(name) })
}

func (f *Files) read(name string) ([]byte, error) {
	// Before it is opened, which would wait for the other end of a pipe.
	switch info, err := f.root.Stat(filepath.FromSlash(name)); {
	case err != nil:
		return nil, f.explain(name, err)
	case !info.Mode().IsRegular():
		return nil, faultf("%q is not a regular file", name)
	}
	file, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, f.explain(name, err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	switch {
	case err != nil:
		return nil, f.explain(name, err)
	case len(content) > MaxFile:
		return nil, faultf("%q is larger than %d MiB", name, MaxFile>>20)
	}
	return content, nil
}

// FolderName is how errors call the folder of a play.
func FolderName(dir string) string {
	if dir == "." {
		return "the folder of the manifest"
	}
	return dir
}

// explain words an error of the file system.
func (f *Files) explain(name string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	e := &fault{err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.msg = fmt.Sprintf("no file %q in %s", name, FolderName(f.dir))
	case err.Error() == "path escapes from parent": // os.Root has no sentinel for it
		e.msg = fmt.Sprintf("%q leads out of the folder %s", name, f.dir)
		e.hint = "a play reads files of its own folder only"
	default:
		e.msg = fmt.Sprintf("reading %q: %v", name, err)
	}
	return e
}

// text gives a file of expression text, parsed.
func (f *Files) text(name string) (*Text, error) {
	source, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	return f.texts.get(path.Clean(name), func() (*Text, error) {
		return Parse(string(source), wholeFile(name))
	})
}

// Jet gives a file that is a Jet template with Jet's own delimiters, parsed. Only
// an error in the template itself has a position.
func (f *Files) Jet(name string) (*Template, error) { return f.jet(name, Delims{}) }

// jet gives a file that is a Jet template, parsed.
func (f *Files) jet(name string, delims Delims) (*Template, error) {
	source, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	key := path.Clean(name) + "\x00" + delims.Left + "\x00" + delims.Right
	return f.templates.get(key, func() (*Template, error) {
		return ParseJet(string(source), wholeFile(name), delims, f)
	})
}

// golang gives a file in the language of text/template, parsed.
func (f *Files) golang(name string) (*Template, error) {
	source, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	return f.templates.get(path.Clean(name), func() (*Template, error) {
		return ParseGo(string(source), wholeFile(name), Delims{})
	})
}

func wholeFile(name string) Position {
	return Position{File: name, Line: 1, Column: 1, Verbatim: true}
}

// A cache keeps what was made for a key, errors too. Each is made once.
type cache[V any] struct {
	mu      sync.Mutex
	entries map[string]*entry[V]
}

type entry[V any] struct {
	once  sync.Once
	value V
	err   error
}

func (c *cache[V]) get(key string, makeIt func() (V, error)) (V, error) {
	c.mu.Lock()
	e, ok := c.entries[key]
	if !ok {
		if c.entries == nil {
			c.entries = map[string]*entry[V]{}
		}
		e = &entry[V]{}
		c.entries[key] = e
	}
	c.mu.Unlock()
	e.once.Do(func() { e.value, e.err = makeIt() })
	return e.value, e.err
}
