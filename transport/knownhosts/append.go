package knownhosts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPoll is the interval between tries for a lock that another process holds.
const lockPoll = 20 * time.Millisecond

// An ownFile is a file that keys are added to, open and locked.
type ownFile struct {
	*os.File
	dir  *os.Root // its directory, links followed
	name string   // in dir
}

// Close also unlocks it.
func (f *ownFile) Close() error { return errors.Join(f.File.Close(), f.dir.Close()) }

// openLocked opens a file for appending, makes it if it is missing, and waits for
// its lock.
func openLocked(ctx context.Context, file string, fileDir FileDir) (*ownFile, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if fileDir == nil {
		fileDir = anyFileDir
	}
	dir, name, err := fileDir(file)
	if err != nil {
		return nil, err
	}
	f, err := openLockedIn(ctx, dir, name)
	if err != nil {
		dir.Close()
		return nil, err
	}
	return &ownFile{f, dir, name}, nil
}

func openLockedIn(ctx context.Context, dir *os.Root, name string) (*os.File, error) {
	for {
		// A named pipe would wait for its other end without O_NONBLOCK.
		f, err := dir.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		if err := lock(ctx, f); err != nil {
			f.Close()
			return nil, fmt.Errorf("locking: %w", err)
		}
		if isAt(f, dir, name) {
			return f, nil
		}
		f.Close() // the former holder of the lock has replaced the file
	}
}

// anyFileDir is a [FileDir] that follows every link.
func anyFileDir(file string) (*os.Root, string, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, "", err
	}
	if at, err := filepath.EvalSymlinks(file); err == nil {
		file = at
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	dir, err := os.OpenRoot(filepath.Dir(file))
	return dir, filepath.Base(file), err
}

func lock(ctx context.Context, f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isAt reports whether an open file still has its name in dir.
func isAt(f *os.File, dir *os.Root, name string) bool {
	open, err := f.Stat()
	there, err2 := dir.Stat(name)
	return err == nil && err2 == nil && os.SameFile(open, there)
}

// appendText adds lines in one write. A reader that comes in the middle of it sees
// a line that it cannot read, which names no key.
func appendText(f *ownFile, lines string) error {
	begin, err := lineStart(f.File)
	if err == nil {
		_, err = f.WriteString(begin + lines)
	}
	return err
}

// lineStart returns the text to write before a new line at the end of the file.
func lineStart(f *os.File) (string, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return "", err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, end-1); err != nil {
		return "", err
	}
	if last[0] != '\n' {
		return "\n", nil
	}
	return "", nil
}

// appendWhole adds lines so that a reader sees none of them or all: a copy of the
// locked file takes its place, with its owner and mode. A file that cannot be replaced, since its folder is not writable or it is
// a mount of its own, gets them in one write instead.
func appendWhole(f *ownFile, lines string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // root could replace /dev/null
		return errors.New("it is not a regular file")
	}
	for {
		replaced, err := replaceWith(f, lines)
		switch {
		case replaced:
			return nil
		case err == nil: // another program has appended without the lock: try again
		case isFixed(err):
			return appendText(f, lines)
		default:
			return err
		}
	}
}

// isFixed reports whether a file has to stay where it is.
func isFixed(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EXDEV)
}

// replaceWith replaces the file by a copy with lines at its end. It returns false if the
// file has grown meanwhile, as ssh takes no lock.
func replaceWith(f *ownFile, lines string) (replaced bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		return false, err
	}
	begin, err := lineStart(f.File)
	if err != nil {
		return false, err
	}
	temp := ".known_hosts-" + rand.Text()
	fresh, err := f.dir.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.dir.Remove(temp) }() // fails once it has been renamed
	defer fresh.Close()
	if err := fill(fresh, info, append(append(text, begin...), lines...)); err != nil {
		return false, err
	}
	if now, err := f.Stat(); err != nil || now.Size() != info.Size() {
		return false, err
	}
	if err := f.dir.Rename(temp, f.name); err != nil {
		return false, err
	}
	return true, syncFolder(f.dir)
}

// fill writes text and sets the owner, group and mode of info.
func fill(f *os.File, info fs.FileInfo, text []byte) error {
	owner, ok := info.Sys().(*syscall.Stat_t)
	if ok && (int(owner.Uid) != os.Geteuid() || int(owner.Gid) != os.Getegid()) {
		if err := f.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	if err := f.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
}

func syncFolder(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
