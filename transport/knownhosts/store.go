package knownhosts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// A Store holds the known_hosts files of a run, each parsed once. The zero value
// works; it must not be copied after first use. All methods may be called from many
// goroutines.
type Store struct {
	mu      sync.Mutex
	files   map[string]*parsed
	revoked map[string][]entry // the files of revoked keys
	// adding is held while a key is added, so that hosts of this process do not
	// wait for each other's file lock.
	adding sync.Mutex
}

// Files are the known_hosts files for a host.
type Files struct {
	AddTo string // file that keys are added to; empty means none
	// Read are known_hosts files in their order, AddTo among them. Missing files are empty.
	Read []string
	// Revoked is a file of public keys, one a line, that no host may have; empty means none. A missing file is an
	// error, since revoked keys would be accepted.
	Revoked string
	// FileDir opens the directory of AddTo; nil follows every link.
	FileDir FileDir
}

// A FileDir opens the directory of the file that an absolute path leads to, and returns the name of the
// file there. It makes missing directories. The file may be missing.
type FileDir func(path string) (dir *os.Root, name string, err error)

// Open returns a view of several files as one. The error is a [FileError].
func (s *Store) Open(f Files) (*View, error) {
	v := &View{store: s, files: f}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range f.Read {
		if s.files[path] != nil {
			continue
		}
		if err := s.read(path); err != nil {
			return nil, err
		}
	}
	if f.Revoked == "" {
		return v, nil
	}
	var err error
	v.revoked, err = s.openRevoked(f.Revoked)
	return v, err
}

// read parses a file again. The caller holds mu.
func (s *Store) read(path string) error {
	info, text, err := readFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &FileError{Path: path, Err: withoutPath(err)}
	}
	if err := unreadable(text); err != nil {
		return &FileError{Path: path, Err: err, Hint: "repair the line, or remove it"}
	}
	if s.files == nil {
		s.files = make(map[string]*parsed)
	}
	s.files[path] = newParsed(path, info, text)
	return nil
}

// maxFile is the size limit of a file of keys, in bytes: about half a million keys.
const maxFile = 64 << 20

// readFile returns a file of keys and its FileInfo from before the read, so lines that are added meanwhile
// count as new later. A pipe without a writer is empty.
func readFile(path string) (fs.FileInfo, []byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return info, text, err
}

// refresh parses a file again that has changed since. It is open and locked.
func (s *Store) refresh(path string, f *os.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if known := s.files[path]; known != nil && known.isAt(info) {
		return nil
	}
	return s.read(path)
}

// reread parses a file again.
func (s *Store) reread(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read(path)
}

// added takes in a line that has just been added to the file. Parsing all of it
// for each of thousands of new hosts would take minutes.
func (s *Store) added(path string, f *os.File, line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	known := s.files[path]
	if known == nil || known.info == nil || info.Size() != known.info.Size()+int64(len(line)) {
		return s.read(path)
	}
	known.add(info, parse(path, []byte(line)), 1)
	return nil
}

// openRevoked reads a file of revoked keys once. The caller holds mu.
func (s *Store) openRevoked(path string) ([]entry, error) {
	if entries, ok := s.revoked[path]; ok {
		return entries, nil
	}
	_, text, err := readFile(path)
	if err != nil {
		return nil, &FileError{Path: path, Revoked: true, Err: withoutPath(err)}
	}
	entries, err := parseRevoked(path, text)
	if err != nil {
		return nil, err
	}
	if s.revoked == nil {
		s.revoked = make(map[string][]entry)
	}
	s.revoked[path] = entries
	return entries, nil
}
