package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// MaxFileBytes limits the bytes read from one file of a play.
const MaxFileBytes = 16 << 20

// Files is the folder of a play. Templates and file() find their files in it, and nothing outside of it, wherever
// symbolic links lead. Files that were read or parsed are kept, so that a file is the same for every host of a run. It
// is safe for concurrent use.
type Files struct {
	dir  string
	root *os.Root

	onRead func(name string) // see [Files.OnRead]

	contents cache[[]byte]
	kept     cache[any]

	mu       sync.Mutex
	warnings []string
}

// Warn notes what looks like a mistake in a file but may be meant.
func (f *Files) Warn(name string, content []byte, offset int, text string) {
	before := string(content[:offset])
	line := strings.Count(before, "\n") + 1
	column := offset - (strings.LastIndexByte(before, '\n') + 1) + 1
	f.mu.Lock()
	defer f.mu.Unlock()
	f.warnings = append(f.warnings, fmt.Sprintf("%s:%d:%d: %s", name, line, column, text))
}

// Warnings returns the warnings recorded so far.
func (f *Files) Warnings() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.warnings)
}

// OpenFiles opens the folder dir. The caller closes it.
func OpenFiles(dir string) (*Files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of the play: %w", err)
	}
	return &Files{dir: dir, root: root, onRead: func(string) {}}, nil
}

// OnRead sets a function that is called before a file is read, or a folder listed, for the first time, by several
// goroutines at once. Call it before the first read.
func (f *Files) OnRead(note func(name string)) { f.onRead = note }

// Close releases the folder. Content that was read stays valid.
func (f *Files) Close() error { return f.root.Close() }

// Read returns the bytes of a file, which the caller must not change. name is relative to the folder, with slashes.
func (f *Files) Read(name string) ([]byte, error) {
	if f == nil {
		return nil, diag.Faultf("no files can be read here")
	}
	if path.IsAbs(name) || filepath.IsAbs(name) {
		return nil, diag.Faultf("%q is not below the folder of the play", name).
			WithHint("write a path relative to %s; %s", f.dir, HostFileHint(name))
	}
	name = path.Clean(name)
	return f.contents.get(name, func() ([]byte, error) { return f.ReadOnce(name) })
}

// HasRead reports whether a file has been read, or was looked for.
func (f *Files) HasRead(name string) bool { return f != nil && f.contents.has(path.Clean(name)) }

// HostFileHint suggests how a property gets the content of a file on the host, which no template can read.
func HostFileHint(name string) string {
	return fmt.Sprintf("to use the file of the host, first write the resource exec: [read: {command: cat %s}]; then replace the property by recv: {content: exec#read.stdout}", name)
}

// ReadOnce is Read for a clean path below the folder, and does not keep the bytes.
func (f *Files) ReadOnce(name string) ([]byte, error) {
	f.onRead(name)
	// Stat comes before open: opening a pipe would wait for its other end.
	switch info, err := f.root.Stat(filepath.FromSlash(name)); {
	case err != nil:
		return nil, f.explain(name, err)
	case !info.Mode().IsRegular():
		return nil, diag.Faultf("%q is not a regular file", name)
	}
	file, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, f.explain(name, err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	switch {
	case err != nil:
		return nil, f.explain(name, err)
	case len(content) > MaxFileBytes:
		return nil, diag.Faultf("%q is larger than %d MiB", name, MaxFileBytes>>20)
	case bytes.HasPrefix(content, []byte("$ANSIBLE_VAULT;")): // its encrypted text is never wanted
		return nil, diag.Faultf("%q is encrypted by ansible-vault", name).
			WithHint(`only the file of a property "source" can be encrypted as a whole; for a template, encrypt single values in "data"`)
	}
	return content, nil
}

// Dir returns the folder in the form passed to [OpenFiles].
func (f *Files) Dir() string { return f.dir }

// Stat describes a path of the folder; links are followed.
func (f *Files) Stat(name string) (fs.FileInfo, error) {
	info, err := f.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, f.explain(name, err)
	}
	return info, nil
}

// Readlink returns the target of a symbolic link.
func (f *Files) Readlink(name string) (string, error) { return f.root.Readlink(name) }

// Entries lists a folder, sorted by name. It reads n entries at most.
func (f *Files) Entries(name string, n int) ([]fs.DirEntry, error) {
	f.onRead(name)
	dir, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, f.explain(name, err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, f.explain(name, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// FolderName returns the name of a play's folder in errors.
func FolderName(dir string) string {
	if dir == "." {
		return "the folder of the manifest"
	}
	return dir
}

// Escapes reports whether a path of an [os.Root] leads out of its folder.
func Escapes(err error) bool {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return err != nil && err.Error() == "path escapes from parent" // os.Root has no sentinel for it
}

// explain words an error of the file system.
func (f *Files) explain(name string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	e := &diag.Fault{Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Msg = fmt.Sprintf("no file %q in %s", name, FolderName(f.dir))
	case Escapes(err):
		folder := "the folder " + f.dir
		if f.dir == "." {
			folder = FolderName(f.dir)
		}
		e.Msg = fmt.Sprintf("%q is outside %s", name, folder)
		e.Hint = "move the file into this folder: a play can read only files in its own folder"
	default:
		e.Msg = fmt.Sprintf("reading %q: %v", name, err)
	}
	return e
}

// KeepParsed returns the result of makeIt for a key of f, such as a parsed file, and calls it once for each key. An
// error is kept too. A key always has the same V.
func KeepParsed[V any](f *Files, key string, makeIt func() (V, error)) (V, error) {
	v, err := f.kept.get(key, func() (any, error) { return makeIt() })
	kept, _ := v.(V)
	return kept, err
}

// A cache keeps the results for keys, errors too. Each is made once.
type cache[V any] struct {
	mu      sync.Mutex
	entries map[string]*cacheEntry[V]
}

type cacheEntry[V any] struct {
	once  sync.Once
	value V
	err   error
}

func (c *cache[V]) has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[key] != nil
}

func (c *cache[V]) get(key string, makeIt func() (V, error)) (V, error) {
	c.mu.Lock()
	e, ok := c.entries[key]
	if !ok {
		if c.entries == nil {
			c.entries = map[string]*cacheEntry[V]{}
		}
		e = &cacheEntry[V]{}
		c.entries[key] = e
	}
	c.mu.Unlock()
	e.once.Do(func() { e.value, e.err = makeIt() })
	return e.value, e.err
}
