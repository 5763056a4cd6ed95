package system

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// LockedError describes the run that holds the lock. It wraps [wire.ErrLocked].
type LockedError struct {
	Holder string        // operator and machine; empty if the lock file does not name them
	Run    string        // run id
	Age    time.Duration // since the lock was taken
	pid    int           // host program; 0 if the lock file does not name it
	// Running are commands of that run, if it has died and they have not ended.
	Running []Orphan
	Kill    string // command line that ends them

	origin string // and epoch, as in [wire.Lock]
	epoch  int
}

// An Orphan is a command whose run has died.
type Orphan struct {
	Name string // empty if the system does not report it
	PID  int
	Age  time.Duration // 0 if the system does not report it

	group int // of processes
}

// maxOrphans bounds the orphans in an error.
const maxOrphans = 8

func (e *LockedError) Error() string {
	switch {
	case len(e.Running) > 0:
		var names []string
		for _, o := range e.Running[:min(len(e.Running), maxOrphans)] {
			names = append(names, o.String())
		}
		if more := len(e.Running) - maxOrphans; more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		return fmt.Sprintf("a killed run left commands on this host: %s, run %s, begun %v ago; still running: %s; to end them: %s (or kill -s KILL)",
			e.Holder, e.Run, e.Age.Round(time.Second), strings.Join(names, ", "), e.Kill)
	case e.Holder == "":
		return wire.ErrLocked.Error()
	}
	return fmt.Sprintf("%v: %s, run %s, for %v", wire.ErrLocked, e.Holder, e.Run, e.Age.Round(time.Second))
}

func (o Orphan) String() string {
	if o.Name == "" {
		return fmt.Sprintf("pid %d", o.PID)
	}
	return fmt.Sprintf("%q (pid %d, for %v)", o.Name, o.PID, o.Age.Round(time.Second))
}

// Unwrap lets errors.Is find [wire.ErrLocked].
func (e *LockedError) Unwrap() error { return wire.ErrLocked }

// A RunLock is the one lock that applying runs of this user on this host share. It
// counts as held for as long as a program runs that has taken it, and then for as long
// as commands run that it was killed at.
type RunLock struct {
	dir, name string
	commands  commandLog
}

// NewRunLock returns the lock. Its file is in userDir, or for root in a directory below /run that only root can change,
// so that no other user can lock out root.
func NewRunLock(userDir string) (*RunLock, error) {
	dir := userDir
	if os.Geteuid() == 0 {
		dir = rootLockDir()
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	// A home directory may be shared by many hosts.
	return &RunLock{dir: dir, name: strings.ReplaceAll(host, "/", "_") + ".lock"}, nil
}

// Take takes the lock, waiting up to l.Wait for its holder. The kernel frees the lock
// of a process that has died.
func (r *RunLock) Take(ctx context.Context, l wire.Lock) (unlock func(), err error) {
	return lock(ctx, l, r.dir, r.name, &r.commands)
}

// Look returns the holder of the lock, without waiting and without taking it. turn changes each time that the lock is
// taken or released; it is "" before the first time.
func (r *RunLock) Look() (holder wire.Lock, held bool, turn string, err error) {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return holder, false, "", absent(err)
	}
	defer root.Close()
	file, err := root.OpenFile(r.name, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return holder, false, "", absent(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return holder, false, "", err
	}
	turn = strconv.FormatInt(info.ModTime().UnixNano(), 36) + "." + strconv.FormatInt(info.Size(), 36)
	if info.Size() == 0 { // the holder writes its name before anything else
		return holder, false, turn, nil
	}
	// The file may be from a holder that has died: then the lock is free.
	locked, held := errors.AsType[*LockedError](try(file))
	if held {
		holder = wire.Lock{Holder: locked.Holder, Run: locked.Run}
	}
	return holder, held, turn, nil
}

// absent returns the error about an existing object; nil if it does not exist.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Host is [New] for the holder of the lock: commands that may change the host are recorded while they run.
func (r *RunLock) Host() modules.Host { return newHost(&r.commands) }

func rootLockDir() string {
	for _, run := range []string{"/run", "/var/run"} {
		if info, err := os.Stat(run); err == nil && info.IsDir() {
			return filepath.Join(run, "ccm-push")
		}
	}
	return "/tmp/ccm-push-root"
}

// holder is the first line of the lock file, in JSON. The slots of a [commandLog] follow it.
type holder struct {
	Holder string    `json:"holder"`
	Run    string    `json:"run"`
	Since  time.Time `json:"since"`
	Boot   string    `json:"boot"` // the start of the host in which slots mean something
	PID    int       `json:"pid"`  // process id of the host program
	First  string    `json:"first,omitempty"`
	Epoch  int       `json:"epoch,omitempty"`
}

// lockMoment is the least time that a run waits for the lock.
const lockMoment = 2 * time.Second

// lockPoll is the interval between tries for a taken lock; they are more frequent at first.
const lockPoll = 250 * time.Millisecond

func lock(ctx context.Context, l wire.Lock, dir, name string, f *commandLog) (unlock func(), err error) {
	file, err := openLock(dir, name)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := acquire(ctx, file, l); err != nil {
		file.Close()
		if errors.Is(err, wire.ErrLocked) {
			return nil, err
		}
		return nil, fmt.Errorf("taking the lock: %w", err)
	}
	slots, err := sign(file, holder{Holder: l.Holder, Run: l.Run, Since: time.Now(), Boot: boot(), PID: os.Getpid(), First: l.First, Epoch: l.Epoch})
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("signing the lock: %w", err)
	}
	f.hold(file, slots)
	return func() {
		f.release()
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

// checkPrivate returns an error if another user can put a file into a directory.
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
		return fmt.Errorf("%s has mode %04o: others can write to it; run on the host: chmod go-w %[1]s", dir, d.Mode.Perm())
	}
	return nil
}

// acquire waits for the lock until ctx ends, and then returns its cause; or for the time that l allows, and then
// returns an error with the holder. A holder of the same run, or of a run that this one resumes, has lost its
// connection: acquire sends it a signal, and waits for its current resource without a limit. It waits a moment for any
// other holder, because the holder may end soon. A reader of kept results also waits for a holder without a name: this
// holder is about to write its name, or it is a check run that reads, too.
func acquire(ctx context.Context, file *os.File, l wire.Lock) error {
	began := time.Now()
	told := 0
	for {
		err := try(file)
		if !errors.Is(err, wire.ErrLocked) {
			return err
		}
		locked, _ := errors.AsType[*LockedError](err)
		end := began.Add(l.Wait)
		if l.Holder != "" || locked != nil && locked.Holder == "" {
			end = began.Add(max(l.Wait, lockMoment))
		}
		again := l.Again && locked != nil && locked.origin == l.Origin() && locked.epoch <= l.Epoch
		if again && len(locked.Running) == 0 && locked.pid != told {
			told = locked.pid
			supersede(told)
		}
		wait := min(lockPoll, 10*time.Millisecond+time.Since(began))
		if left := time.Until(end); !again && left < wait {
			wait = left
		}
		if wait <= 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// try takes the lock, or returns an error with its holder.
func try(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return describeHolder(file)
	}
	if err != nil {
		return err
	}
	// The content is from a holder that has died.
	h, notes, err := readNotes(file)
	if err != nil {
		return err
	}
	running := orphans(notes)
	if len(running) == 0 {
		return nil
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_UN); err != nil {
		return err
	}
	locked := &LockedError{Holder: h.Holder, Run: h.Run, Age: since(h.Since), Kill: killLine(running), origin: cmp.Or(h.First, h.Run), epoch: h.Epoch}
	for _, p := range running {
		age := time.Duration(ticks()-p.start) * time.Second / ticksPerSecond
		locked.Running = append(locked.Running, Orphan{p.name, p.pid, age, p.group})
	}
	return locked
}

// since returns the time since t; 0 if the clock was set back.
func since(t time.Time) time.Duration { return max(0, time.Since(t)) }

// sign writes the holder of the lock, and returns the offset of the slots after it.
func sign(file *os.File, h holder) (slots int64, err error) {
	text, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	if err := file.Truncate(0); err != nil {
		return 0, err
	}
	slots = int64(len(text)/slotSize+1) * slotSize
	_, err = file.WriteAt(padded(string(text), int(slots)), 0)
	return slots, err
}

// parseHolder splits a lock file into its holder and the slots.
func parseHolder(text []byte) (h holder, slots []byte) {
	line, slots, _ := bytes.Cut(text, []byte("\n"))
	if json.Unmarshal(line, &h) != nil {
		return holder{}, nil
	}
	return h, slots
}

// maxHolder bounds the read part of a lock file's holder: 4 KiB.
const maxHolder = 4 << 10

func describeHolder(file *os.File) error {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, maxHolder))
	h, _ := parseHolder(text)
	if err != nil || h.Holder == "" {
		return &LockedError{}
	}
	return &LockedError{Holder: h.Holder, Run: h.Run, Age: since(h.Since), pid: h.PID, origin: cmp.Or(h.First, h.Run), epoch: h.Epoch}
}

// Supersede is the signal to a host program whose controller has come back over another connection: the program ends
// after the current resource, as if its input had ended.
const Supersede = syscall.SIGUSR1

// supersede signals the host program that holds the lock, if it is one like this.
func supersede(pid int) {
	if isLikeThis(pid) {
		_ = syscall.Kill(pid, Supersede) // if it has ended, so much the better
	}
}
