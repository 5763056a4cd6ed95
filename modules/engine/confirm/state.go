package confirm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// A State describes changes that must be confirmed. It is written once.
type State struct {
	Holder string        `json:"holder"` // operator and machine; first, as in a lock
	Run    string        `json:"run"`
	Play   int           `json:"play"`
	ID     string        `json:"id"`             // ID of the nonce
	First  int           `json:"first"`          // the change of the run from which on all are taken back
	Boot   bool          `json:"boot,omitempty"` // a unit takes it back when the host starts again
	At     time.Time     `json:"at,omitzero"`    // when it was armed, by the clock of the host
	Start  string        `json:"start"`          // start of the host, to which the deadline belongs
	Until  time.Duration `json:"until"`          // the first deadline, since that start
	Within time.Duration `json:"within"`
	Port   int           `json:"port,omitempty"`   // port of the SSH server; 0 if it is not known
	Server bool          `json:"server,omitempty"` // the configuration of the SSH server was good
}

// ID returns the hash of a nonce for the files: it does not suffice to confirm.
func ID(nonce string) string {
	sum := sha256.Sum256([]byte(nonce))
	return hex.EncodeToString(sum[:10])
}

// currentName names the id that was armed last. A listing of the directory would not do: it may miss a
// file that is being renamed.
const currentName = "confirm.current"

// A Phase is the progress of a State.
type Phase string

// The phases, as they end the names of files.
const (
	Armed     Phase = "armed"
	Confirmed Phase = "confirmed"
	Reverting Phase = "reverting"
)

// Files are the files of states.
type Files struct {
	// Open opens the directory, and first creates it if create is set. It fails if other users could change its
	// contents.
	Open func(create bool) (*os.Root, error)
	// Prefix begins the names of files; a home may be shared by many hosts.
	Prefix string
	// SyncDir has the disk know the names in a directory.
	SyncDir func(*os.Root) error
	// Die, if set, is called between the steps that change files: tests die there.
	Die func(step string)
}

func (f *Files) step(name string) {
	if f.Die != nil {
		f.Die(name)
	}
}

func (f *Files) name(id string, p Phase) string { return f.Prefix + "confirm-" + id + "." + string(p) }

// in calls do with the directory. If it does not exist and create is not set, in does nothing.
func (f *Files) in(create bool, do func(dir *os.Root) error) error {
	dir, err := f.Open(create)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(dir)
}

// Arm has the host wait for a confirmation from now on. Once it has returned nil, that is known also
// after a crash of the host. The host's lock is held, and nothing else is armed.
func (f *Files) Arm(s *State) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return f.in(true, func(dir *os.Root) error {
		for _, name := range []string{f.name(s.ID, Confirmed), f.Prefix + deadlineName} { // of an earlier stage
			if err := remove(dir, name); err != nil {
				return err
			}
		}
		if err := f.replace(dir, f.Prefix+currentName, []byte(s.ID)); err != nil {
			return err
		}
		return f.replace(dir, f.name(s.ID, Armed), append(text, '\n'))
	})
}

// replace writes a file as a whole, and so that it outlives a crash of the host.
func (f *Files) replace(dir *os.Root, name string, text []byte) error {
	next := name + ".new"
	if err := remove(dir, next); err != nil {
		return err
	}
	file, err := dir.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	f.step("written " + name)
	if err := dir.Rename(next, name); err != nil {
		return err
	}
	f.step("renamed " + name)
	return f.SyncDir(dir)
}

func remove(dir *os.Root, name string) error {
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Verdict decides about an armed state: won reports whether this verdict counts. Otherwise there was another one
// before, or the id is not armed.
func (f *Files) Verdict(id string, p Phase) (won bool, err error) {
	err = f.in(false, func(dir *os.Root) error {
		f.step("about to be " + string(p))
		switch err := dir.Rename(f.name(id, Armed), f.name(id, p)); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		won = true
		f.step("is " + string(p))
		return f.SyncDir(dir)
	})
	return won, err
}

// Phase returns the phase of an id; "" if it is unknown.
func (f *Files) Phase(id string) (p Phase, err error) {
	err = f.in(false, func(dir *os.Root) (err error) {
		p, err = f.phase(dir, id)
		return err
	})
	return p, err
}

func (f *Files) phase(dir *os.Root, id string) (Phase, error) {
	// In this order: an armed state may get another phase a moment later.
	for _, p := range []Phase{Armed, Confirmed, Reverting} {
		if _, err := dir.Lstat(f.name(id, p)); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return p, err
		}
	}
	return "", nil
}

// Pending returns the state without a verdict, or with a revert in progress, or nil.
func (f *Files) Pending() (s *State, p Phase, err error) {
	for range 3 { // it may get its verdict, and be forgotten, while it is read
		err = f.in(false, func(dir *os.Root) (err error) {
			s, p, err = f.pending(dir)
			return err
		})
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, p, err
}

func (f *Files) pending(dir *os.Root) (*State, Phase, error) {
	id, err := dir.ReadFile(f.Prefix + currentName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	p, err := f.phase(dir, string(id))
	if err != nil || p != Armed && p != Reverting {
		return nil, "", err
	}
	name := f.name(string(id), p)
	s, err := f.read(dir, name)
	if err == nil && s.ID != string(id) {
		err = fmt.Errorf("%s is about %.40q", name, s.ID)
	}
	return s, p, err
}

func list(dir *os.Root) ([]string, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// maxState bounds the file of a state, in bytes.
const maxState = 64 << 10

func (f *Files) read(dir *os.Root, name string) (*State, error) {
	text, err := dir.ReadFile(name)
	if err != nil {
		return nil, err
	}
	s := &State{}
	if len(text) > maxState {
		err = errors.New("it is too large")
	} else {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("the record of unconfirmed changes cannot be read: %s: %w", name, err)
	}
	return s, nil
}

// Forget removes the files of confirmed changes, except deadlines and the files of the id but.
func (f *Files) Forget(but string) error {
	return f.in(false, func(dir *os.Root) error {
		names, err := list(dir)
		for _, name := range names {
			if rest, ours := strings.CutPrefix(name, f.Prefix+"confirm-"); ours && strings.HasSuffix(rest, "."+string(Confirmed)) && name != f.name(but, Confirmed) {
				err = errors.Join(err, remove(dir, name))
			}
		}
		return err
	})
}
