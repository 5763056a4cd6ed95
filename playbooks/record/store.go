package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules/rooted"
)

// A Store is the folder of the runs of one user.
type Store struct {
	Folder string // an absolute path
	// Warn is called for unreadable records, and unreadable lines of them, which are skipped; nil drops the warnings.
	// It may be called again for the same one.
	Warn func(string)
}

// In returns the store of an environment: $XDG_STATE_HOME/ccm-push/runs, by default below ~/.local/state (XDG Base
// Directory Specification). It returns an error if there is none.
func In(getenv func(string) string) (Store, error) {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // which the specification has us ignore
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return Store{}, errors.New("neither $XDG_STATE_HOME nor $HOME is the path of a folder")
		}
		state = filepath.Join(home, ".local", "state")
	}
	return Store{Folder: filepath.Join(state, "ccm-push", "runs")}, nil
}

// FolderOf is the folder of a run with an id.
func (s Store) FolderOf(id string) string { return filepath.Join(s.Folder, id) }

// make creates the folder. It neither follows nor changes anything that another user could have put there, such as the
// user whose $HOME sudo has kept.
func (s Store) make() error { return rooted.MakePrivate(s.Folder) }

// An Unreadable record is one of which the header cannot be read.
type Unreadable struct {
	Run string
	Err error // wraps [fs.ErrNotExist] if the run has no header (yet)
}

// List returns the runs, the newest first. It skips folders that are not runs, or not yet, and skips unreadable records
// with a warning.
func (s Store) List() ([]*Run, error) {
	runs, unreadable, err := s.list()
	for _, u := range unreadable {
		switch {
		case s.Warn == nil, errors.Is(u.Err, fs.ErrNotExist):
		case errors.Is(u.Err, ErrNewer):
			s.Warn(fmt.Sprintf("run %s is skipped: %v", u.Run, u.Err))
		default:
			s.Warn(fmt.Sprintf("run %s is skipped, because its record is damaged: %v\n  hint: ccm-push runs prune removes damaged records", u.Run, u.Err))
		}
	}
	return runs, err
}

func (s Store) list() (runs []*Run, unreadable []Unreadable, err error) {
	entries, err := os.ReadDir(s.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range slices.Backward(entries) { // ids sort by time
		if !IsID(e.Name()) {
			continue
		}
		if r, err := s.open(e.Name()); err == nil {
			runs = append(runs, r)
		} else {
			unreadable = append(unreadable, Unreadable{e.Name(), err})
		}
	}
	return runs, unreadable, nil
}

// ErrNone is wrapped by the error of a name that no run has.
var ErrNone = errors.New("no run")

// Find returns the run with a name. The name is last, an id, or the beginning or the end of an id: at least four
// characters, and unique.
func (s Store) Find(name string) (*Run, error) {
	if name == "last" {
		return s.Last(func(*Run) bool { return true })
	}
	const shortest = 4
	id := strings.ToUpper(name)
	if IsID(id) {
		r, err := s.open(id)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w has the id %s", ErrNone, name)
		}
		return r, err
	}
	entries, err := os.ReadDir(s.Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if IsID(e.Name()) && len(id) >= shortest && (strings.HasPrefix(e.Name(), id) || strings.HasSuffix(e.Name(), id)) {
			found = append(found, e.Name())
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%w has the id %s\n  hint: ccm-push runs lists all runs; write last, an id, or four or more characters of its beginning or end", ErrNone, name)
	case 1:
		return s.open(found[0])
	}
	return nil, fmt.Errorf("%s begins or ends the ids of %d runs: %s", name, len(found), strings.Join(found, ", "))
}

// Last returns the newest run for which meant returns true.
func (s Store) Last(meant func(*Run) bool) (*Run, error) {
	runs, err := s.List()
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if meant(r) {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w of this kind is recorded in %s", ErrNone, s.Folder)
}
