package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// LockedError describes the run that holds the lock. It wraps [modules.ErrLocked].
type LockedError struct {
	Holder string        // who and where; "" if the lock file does not say
	Run    string        // run id
	Age    time.Duration // since the lock was taken
}

func (e *LockedError) Error() string {
	if e.Holder == "" {
		return modules.ErrLocked.Error()
	}
	return fmt.Sprintf("%v: %s, run %s, for %v", modules.ErrLocked, e.Holder, e.Run, e.Age.Round(time.Second))
}

// Unwrap lets errors.Is find [modules.ErrLocked].
func (e *LockedError) Unwrap() error { return modules.ErrLocked }

// Lock takes the one lock that applying runs of this user on this host share,
// waiting up to l.Wait for its holder. The lock file is in userDir, or for root
// in a directory below /run that only root can change, so that nobody else can
// keep root out. The kernel frees the lock of a process that has died.
func Lock(ctx context.Context, l modules.Lock, userDir string) (unlock func(), err error) {
	dir := userDir
	if os.Geteuid() == 0 {
		dir = rootLockDir()
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	// A home directory may be shared by many hosts.
	name := strings.ReplaceAll(host, "/", "_") + ".lock"
	return lock(ctx, l, dir, name)
}

func rootLockDir() string {
	for _, run := range []string{"/run", "/var/run"} {
		if info, err := os.Stat(run); err == nil && info.IsDir() {
			return filepath.Join(run, "ccm-push")
		}
	}
	return "/tmp/ccm-push-root"
}

// holder is what the lock file says, in JSON.
type holder struct {
	Holder string    `json:"holder"`
	Run    string    `json:"run"`
	Since  time.Time `json:"since"`
}

// lockPoll is how often a lock that is taken is tried again.
const lockPoll = 250 * time.Millisecond

func lock(ctx context.Context, l modules.Lock, dir, name string) (unlock func(), err error) {
	file, err := openLock(dir, name)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.Wait, modules.ErrLocked)
	defer cancel()
	if err := acquire(ctx, file); err != nil {
		defer file.Close()
		if errors.Is(err, modules.ErrLocked) {
			return nil, describeHolder(file)
		}
		return nil, fmt.Errorf("taking the lock: %w", err)
	}
	if err := sign(file, holder{l.Holder, l.Run, time.Now()}); err != nil {
		file.Close()
		return nil, fmt.Errorf("signing the lock: %w", err)
	}
	return func() {
		file.Truncate(0) // the name of a run that is over would only mislead
		file.Close()
	}, nil
}

func openLock(dir, name string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkPrivate(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
}

// checkPrivate makes sure that nobody else can put a file into a directory.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	switch d := describe(info); {
	case d.Kind != modules.Directory:
		return &fs.PathError{Op: "check", Path: dir, Err: syscall.ENOTDIR}
	case d.UID != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, not to %d", dir, d.UID, os.Geteuid())
	case d.Mode&0o022 != 0:
		return fmt.Errorf("%s has mode %04o: others can write to it", dir, d.Mode.Perm())
	}
	return nil
}

// acquire waits for the lock until ctx ends, and then returns its cause.
func acquire(ctx context.Context, file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}

func sign(file *os.File, h holder) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(append(text, '\n'), 0)
	return err
}

// maxHolder bounds what is read from a lock file: 4 KiB.
const maxHolder = 4 << 10

func describeHolder(file *os.File) error {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, maxHolder))
	var h holder
	if err != nil || json.Unmarshal(text, &h) != nil {
		return &LockedError{}
	}
	return &LockedError{Holder: h.Holder, Run: h.Run, Age: time.Since(h.Since)}
}
