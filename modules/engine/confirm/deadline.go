package confirm

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Clock measures the time since the host was started.
type Clock struct {
	// Since counts also while the host is suspended, unlike the timers of Go.
	Since func() time.Duration
	Start string // names this start of the host
}

const deadlineName = "confirm.deadline"

// Push moves the deadline of the armed change. It need not outlive a crash of the host, after which the deadline has no
// meaning.
func (f *Files) Push(id string, until time.Duration) error {
	return f.in(false, func(dir *os.Root) error {
		next := f.Prefix + deadlineName + ".new"
		if err := dir.WriteFile(next, []byte(id+" "+strconv.FormatInt(int64(until), 10)+"\n"), 0o600); err != nil {
			return err
		}
		return dir.Rename(next, f.Prefix+deadlineName)
	})
}

// until is the deadline of a state.
func (f *Files) until(s *State) (until time.Duration, err error) {
	until = s.Until
	err = f.in(false, func(dir *os.Root) error {
		text, err := dir.ReadFile(f.Prefix + deadlineName)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		id, number, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		if pushed, err := strconv.ParseInt(number, 10, 64); err == nil && id == s.ID {
			until = time.Duration(pushed)
		}
		return nil
	})
	return until, err
}

// Left returns the time that the armed change still waits; at most 0 if it does not. A change that was armed before the
// host was started again does not wait. A deadline further away than progress could have moved it is invalid.
func (f *Files) Left(s *State, c Clock) time.Duration {
	if s.Start != c.Start {
		return 0
	}
	until, err := f.until(s)
	if err != nil {
		until = s.Until
	}
	left := until - c.Since()
	return min(left, s.Within)
}
