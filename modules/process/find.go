package process

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// Find returns the path of a program: the first executable file of that name in one of the directories, or "". If name
// is a path, only this path is checked.
func Find(files modules.FileReader, dirs []string, name string) string {
	if path.IsAbs(name) {
		dirs = []string{"/"}
	}
	for _, dir := range dirs {
		file := path.Join(dir, name)
		info, err := modules.Follow(files, file)
		if err == nil && info.Kind == modules.Regular && info.Mode&0o111 != 0 {
			return file
		}
	}
	return ""
}

// Safe reports a path at which others can put something, if uid is root's: root would run
// it. Other users may trust whom they like.
func Safe(files modules.FileReader, uid int, name string) error {
	if uid != 0 {
		return nil
	}
	return modules.OthersMayChange(files, name, uid)
}

// ErrTooLong means that a text is longer than the limit.
var ErrTooLong = errors.New("it is too long")

// ReadText reads the first most bytes of a file. For a longer file it returns them with the error [ErrTooLong].
func ReadText(files modules.FileReader, name string, most int) (string, error) {
	r, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := ReadAtMost(r, most)
	return string(text), err
}

// ReadFile is [ReadText] of a regular file in fsys, as bytes.
func ReadFile(fsys fs.FS, name string, most int) ([]byte, error) {
	// Opening a pipe would wait for its other end.
	switch info, err := fs.Stat(fsys, name); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is not a regular file")}
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadAtMost(file, most)
}

// ReadAtMost is [ReadText] for an open file.
func ReadAtMost(r io.Reader, most int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(text) > most {
		return text[:most], ErrTooLong
	}
	return text, err
}

// Dirs are the absolute ones of a list of directories with colons between.
func Dirs(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ":"), func(dir string) bool { return !path.IsAbs(dir) })
}

// Guess returns the words after a key in a text that should be JSON or YAML and cannot be parsed: it may still contain
// the names in it.
func Guess(text, key string) []string {
	const around = "\"' \t\r-"
	var all []string
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune("\n,{}", c) }) {
		if k, value, ok := strings.Cut(part, ":"); ok && strings.Trim(k, around) == key {
			if value = strings.Trim(value, around); value != "" {
				all = append(all, value)
			}
		}
	}
	return all
}

// A Memo stores facts about a host, by the inputs that they were computed from, for as long as the host program runs. A
// nil one stores nothing.
type Memo[V any] struct {
	mu    sync.Mutex
	known map[string]V
}

// Get returns the stored fact.
func (m *Memo[V]) Get(key string) (v V, known bool) {
	if m == nil {
		return v, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	v, known = m.known[key]
	return v, known
}

// Put keeps a value.
func (m *Memo[V]) Put(key string, v V) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]V{}
	}
	m.known[key] = v
}
