package confirm

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
)

const (
	noticeName = "confirm.reverted"
	maxNotices = 20 // the oldest go first
	maxNotice  = 16 << 20
)

// Reverted notes what was taken back, for the next run to be told, and forgets the state. The
// host's lock is held.
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

// Note is Reverted for what is not all yet: the state stays.
func (f *Files) Note(s *State, r wire.Reverted) error {
	return f.in(true, func(dir *os.Root) error { return f.note(dir, s, r) })
}

func (f *Files) note(dir *os.Root, s *State, r wire.Reverted) error {
	all, err := f.notices(dir)
	if err != nil {
		all = nil // what cannot be read is not told either
	}
	all = slices.DeleteFunc(all, func(other reverted) bool { return other.ID == s.ID })
	all = append(all, reverted{s.ID, r})
	return f.write(dir, all[max(0, len(all)-maxNotices):])
}

func (f *Files) notices(dir *os.Root) (all []reverted, err error) {
	text, err := dir.ReadFile(f.Prefix + noticeName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(text) > maxNotice:
		return nil, errors.New("what was taken back cannot be read: it is too large")
	}
	return all, json.Unmarshal(text, &all)
}

func (f *Files) write(dir *os.Root, all []reverted) error {
	if len(all) == 0 {
		return errors.Join(remove(dir, f.Prefix+noticeName), f.SyncDir(dir))
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return f.replace(dir, f.Prefix+noticeName, text)
}

// Untold gives what was taken back and nobody has acknowledged, the oldest first.
func (f *Files) Untold() (all []*wire.Reverted, err error) {
	err = f.in(false, func(dir *os.Root) error {
		notices, err := f.notices(dir)
		for i := range notices {
			all = append(all, &notices[i].Reverted)
		}
		return err
	})
	return all, err
}

// Of gives what was taken back of an id; nil if nothing was, or that has been acknowledged.
func (f *Files) Of(id string) (r *wire.Reverted, err error) {
	err = f.in(false, func(dir *os.Root) error {
		notices, err := f.notices(dir)
		for i := range notices {
			if notices[i].ID == id {
				r = &notices[i].Reverted
			}
		}
		return err
	})
	return r, err
}

// Acknowledge forgets what was taken back of a catalog. The host's lock is held.
func (f *Files) Acknowledge(run string, play int) error {
	return f.in(false, func(dir *os.Root) error {
		all, err := f.notices(dir)
		if err != nil {
			return err
		}
		rest := slices.DeleteFunc(slices.Clone(all), func(r reverted) bool { return r.Run == run && r.Play == play })
		if len(rest) == len(all) {
			return nil
		}
		return f.write(dir, rest)
	})
}
