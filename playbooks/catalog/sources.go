package catalog

import (
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

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/templates"
)

// sources reads and hashes the files of a play's folder, each once per run.
type sources struct {
	folder string
	root   *os.Root
	opener yamlpos.Opener // decrypts encrypted files; nil sends them unchanged

	mu    sync.Mutex
	known map[string]*hashed

	note func(name string) // called before a file of the folder is read, or a folder in it listed

	bundled func() *bundle // its folder resources/; nil means none
}

type hashed struct {
	once    sync.Once
	content modules.Content
	sealed  bool // the file is encrypted, and content is not: it is inline, whatever its size
	err     error
}

func openSources(folder string, opener yamlpos.Opener) (*sources, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	s := &sources{folder: folder, root: root, opener: opener, known: map[string]*hashed{}, note: func(string) {}}
	s.bundled = sync.OnceValue(func() *bundle { return readBundle(s, resourcesFolder) })
	return s, nil
}

func (s *sources) close() { s.root.Close() }

// content returns the content of a file, inline if it is small.
func (s *sources) content(name string) (modules.Content, error) {
	h := s.read(name)
	return h.content, h.err
}

// read reads a file, once.
func (s *sources) read(name string) *hashed {
	name = filepath.Clean(name)
	s.mu.Lock()
	h := s.known[name]
	if h == nil {
		h = &hashed{}
		s.known[name] = h
	}
	s.mu.Unlock()
	h.once.Do(func() {
		if h.content, h.err = s.hash(name); h.err == nil && s.opener != nil {
			h.open(s, name)
		}
	})
	return h
}

// vaultHeader begins files encrypted by ansible-vault, which Ansible's copy module decrypts. Files encrypted by other
// tools are sent unchanged: they may belong on a host.
const vaultHeader = "$ANSIBLE_VAULT;"

// maxSealed bounds files that are decrypted, in bytes.
const maxSealed = 16 << 20

// open decrypts the file if it is encrypted.
func (h *hashed) open(s *sources, name string) {
	f, size, err := s.open(name)
	if err != nil {
		h.err = err
		return
	}
	defer f.Close()
	head := make([]byte, len(vaultHeader))
	if n, _ := f.ReadAt(head, 0); string(head[:n]) != vaultHeader {
		return
	}
	if size > maxSealed {
		h.err = fmt.Errorf("%s is encrypted, and larger than %d MiB", name, maxSealed>>20)
		return
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSealed))
	if err == nil {
		data, h.sealed, err = s.opener.File(filepath.Join(s.folder, name), data)
	}
	h.content, h.err = modules.BytesContent(data), err
}

func (s *sources) hash(name string) (modules.Content, error) {
	if filepath.IsAbs(name) {
		return modules.Content{}, &modules.PropertyError{
			Msg:  fmt.Sprintf("%q is an absolute path", name),
			Hint: fmt.Sprintf("write a path relative to %s; %s", templates.FolderName(s.folder), templates.FromHost(name)),
		}
	}
	f, size, err := s.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return modules.Content{}, fmt.Errorf("cannot read %q: no such file in %s", name, templates.FolderName(s.folder))
	case errors.Is(err, errNotRegular):
		return modules.Content{}, fmt.Errorf("%q in %s is not a regular file", name, templates.FolderName(s.folder))
	case templates.Escapes(err):
		return modules.Content{}, &modules.PropertyError{
			Msg:  fmt.Sprintf("%q is outside %s", name, templates.FolderName(s.folder)),
			Hint: "move the file into this folder: a play can read only files in its own folder",
		}
	case err != nil:
		return modules.Content{}, fmt.Errorf("cannot read %q in %s: %w", name, templates.FolderName(s.folder), unwrapPath(err))
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

var (
	errNotRegular = errors.New("not a regular file")
	errOutside    = errors.New("the path leads out of the folder of the manifest")
)

// open opens a regular file of the folder and returns its size in bytes.
func (s *sources) open(name string) (*os.File, int64, error) {
	s.note(name)
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
	if templates.Escapes(err) {
		return errOutside
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
