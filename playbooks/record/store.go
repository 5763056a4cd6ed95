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
}

// In gives the store of an environment: $XDG_STATE_HOME/ccm-push/runs, by default below
// ~/.local/state (XDG Base Directory Specification). The error says that there is none.
func In(getenv func(string) string) (Store, error) {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // which the specification has us ignore
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return Store{}, errors.New("neither $XDG_STATE_HOME nor $HOME is the path of a folder")
		}
		state = filepath.Join(home, ".local", "state")
	}
	return Store{filepath.Join(state, "ccm-push", "runs")}, nil
}

// FolderOf is the folder of a run with an id.
func (s Store) FolderOf(id string) string { return filepath.Join(s.Folder, id) }

// make makes the folder. What another user could have put there, such as the one whose $HOME sudo has
// kept, is neither followed nor changed.
func (s Store) make() error { return rooted.MakePrivate(s.Folder) }

// List gives the runs, the newest first. A folder that is no run, or not yet, is left out;
// one that cannot be read comes with an error beside the others.
func (s Store) List() ([]*Run, error) {
	entries, err := os.ReadDir(s.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var runs []*Run
	var errs []error
	for _, e := range slices.Backward(entries) { // ids sort by time
		if !IsID(e.Name()) {
			continue
		}
		r, err := s.open(e.Name())
		switch {
		case err == nil:
			runs = append(runs, r)
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	return runs, errors.Join(errs...)
}

// ErrNone is wrapped by the error of a name that no run has.
var ErrNone = errors.New("there is no such run")

// Find gives the run with a name: last, its id, or the beginning or the end of its id, of
// at least four characters, that no other run has.
func (s Store) Find(name string) (*Run, error) {
	if name == "last" {
		return s.Last(func(*Run) bool { return true })
	}
	const shortest = 4
	id := strings.ToUpper(name)
	if IsID(id) {
		r, err := s.open(id)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %s", ErrNone, name)
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
		return nil, fmt.Errorf("%w: %s\n  hint: ccm-push runs lists them; write last, an id, or four characters and more of its beginning or end", ErrNone, name)
	case 1:
		return s.open(found[0])
	}
	return nil, fmt.Errorf("%s begins or ends the ids of %d runs: %s", name, len(found), strings.Join(found, ", "))
}

// Last gives the newest run that is meant.
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
	return nil, fmt.Errorf("%w: nothing of the kind is recorded in %s", ErrNone, s.Folder)
}
