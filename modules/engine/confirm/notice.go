package confirm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// Each revert has a file of its own, so that acknowledging it needs no lock.
const (
	noticeSuffix = ".reverted"
	maxNotices   = 20 // the oldest go first
	maxNotice    = 4 << 20
)

func (f *Files) notice(id string) string { return f.Prefix + "confirm-" + id + noticeSuffix }

// Note records reverted changes, for the report of the next run. The state stays. The caller holds the host's lock.
func (f *Files) Note(s *State, r wire.Reverted) error {
	return f.in(true, func(dir *os.Root) error { return f.note(dir, s, r) })
}

func (f *Files) note(dir *os.Root, s *State, r wire.Reverted) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := f.replace(dir, f.notice(s.ID), text); err != nil {
		return err
	}
	all, err := f.notices(dir)
	for ; len(all) > maxNotices; all = all[1:] {
		err = errors.Join(err, remove(dir, all[0].name))
	}
	return err
}

// Reverted is Note, and forgets the state.
func (f *Files) Reverted(s *State, r wire.Reverted) error {
	return f.in(true, func(dir *os.Root) error {
		if err := f.note(dir, s, r); err != nil {
			return err
		}
		f.step("noted")
		if err := remove(dir, f.name(s.ID, Reverting)); err != nil {
			return err
		}
		return errors.Join(remove(dir, f.Prefix+currentName), remove(dir, f.Prefix+deadlineName), f.SyncDir(dir))
	})
}

// A noticeFile is the file of a revert.
type noticeFile struct {
	name string
	wire.Reverted
}

// notices returns all readable files, the oldest first.
func (f *Files) notices(dir *os.Root) (all []*noticeFile, err error) {
	names, err := list(dir)
	for _, name := range names {
		if rest, ours := strings.CutPrefix(name, f.Prefix+"confirm-"); ours && strings.HasSuffix(rest, noticeSuffix) {
			n := &noticeFile{name: name}
			if r, readErr := readNotice(dir, name); readErr == nil && r != nil {
				n.Reverted = *r
				all = append(all, n)
			} else {
				err = errors.Join(err, readErr)
			}
		}
	}
	slices.SortFunc(all, func(a, b *noticeFile) int { return a.At.Compare(b.At) })
	return all, err
}

// readNotice returns the reverted changes, or nil.
func readNotice(dir *os.Root, name string) (*wire.Reverted, error) {
	text, err := dir.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r := &wire.Reverted{}
	switch {
	case err != nil:
	case len(text) > maxNotice:
		err = errors.New("it is too large")
	default:
		err = json.Unmarshal(text, r)
	}
	if err != nil {
		return nil, fmt.Errorf("the record of reverted changes cannot be read: %s: %w", name, err)
	}
	return r, nil
}

// Untold returns the reverts that no controller has acknowledged, the oldest first. With an error it returns the
// readable ones.
func (f *Files) Untold() (all []*wire.Reverted, err error) {
	err = f.in(false, func(dir *os.Root) error {
		notices, err := f.notices(dir)
		for _, n := range notices {
			all = append(all, &n.Reverted)
		}
		return err
	})
	return all, err
}

// Of returns the reverted changes of an id, or nil if they have been acknowledged.
func (f *Files) Of(id string) (r *wire.Reverted, err error) {
	err = f.in(false, func(dir *os.Root) (err error) {
		r, err = readNotice(dir, f.notice(id))
		return err
	})
	return r, err
}

// Acknowledge drops the reverted changes of a catalog.
func (f *Files) Acknowledge(run string, play int) error {
	return f.in(false, func(dir *os.Root) error {
		all, err := f.notices(dir)
		for _, n := range all {
			if n.Run == run && n.Play == play {
				err = errors.Join(err, remove(dir, n.name))
			}
		}
		return err
	})
}
