package rooted

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxStem keeps the name of a temporary file within the 255 bytes that file systems
// allow.
const maxStem = 200

// TempName is the name of a temporary file for name; name is empty if the final name is not known yet.
func TempName(name string) string {
	if len(name) > maxStem {
		name = name[:maxStem]
	}
	if name != "" {
		name = "." + name
	}
	return fmt.Sprintf("%s.ccm-%016x", name, rand.Uint64())
}

var tempName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\..+)?\.ccm-[0-9a-f]{16}$`) })

// CreateTemp creates an empty file of mode 0600 in a directory, so that no other user can have opened it. O_EXCL does
// not follow an existing link of that name. The file is locked while it is open, so [Sweep] does not remove it. temp is
// its name in the directory, since its Name is the whole path.
func CreateTemp(dir *os.Root, name string) (file *os.File, temp string, err error) {
	for {
		temp = TempName(name)
		file, err = dir.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return nil, "", err
		}
		if Lock(file) {
			return file, temp, nil
		}
		file.Close() // it has been swept away before it was locked
	}
}

// CloseWritten closes a written file so that an executable can run from then on: a command that was started meanwhile
// has it open too, for a moment, and the kernel does not execute a file that is open for writing (ETXTBSY, execve(2)).
// So it waits until the lock on it, which they share, is gone. Without Linux's /proc it does not wait.
func CloseWritten(file *os.File) error {
	info, err := file.Stat()
	if err != nil || info.Mode()&0o111 == 0 {
		return file.Close()
	}
	again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	if err != nil || unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		again.Close()
		return file.Close()
	}
	defer again.Close()
	if err := file.Close(); err != nil {
		return err
	}
	for {
		if !errors.Is(unix.Flock(int(again.Fd()), unix.LOCK_SH), unix.EINTR) {
			return nil
		}
	}
}

// Lock locks a temporary file, and reports whether it still exists. If the file system has no locks, only the file's
// age protects it from [Sweep].
func Lock(file *os.File) bool {
	if errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(int(file.Fd()), &st) == nil && st.Nlink > 0
}

// unlocked is the age at which a temporary file that cannot be locked counts as a leftover.
const unlocked = 24 * time.Hour

// Sweep removes the temporary files that killed runs have left in a directory: files, links, and directories that
// contain only directories. It does not remove files that a running process holds locked, files of other users, or
// files that it cannot identify. Root removes files of any owner: a file that root makes for a user gets that owner
// before its final name. Sweep ignores errors.
func Sweep(dir *os.Root) {
	d, err := dir.Open(".")
	if err != nil {
		return
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(1000)
		for _, name := range names {
			if tempName().MatchString(name) {
				sweep(dir, name)
			}
		}
		if err != nil || len(names) == 0 {
			return
		}
	}
}

func sweep(dir *os.Root, name string) {
	info, err := dir.Lstat(name)
	if err != nil {
		return
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if euid := os.Geteuid(); !ok || euid != 0 && int(st.Uid) != euid {
		return
	}
	switch {
	case info.Mode().Type() == fs.ModeSymlink: // has its real name within the moment
		if time.Since(info.ModTime()) > unlocked {
			_ = dir.Remove(name)
		}
		return
	case !info.IsDir() && !info.Mode().IsRegular():
		return
	}
	file, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil || !os.SameFile(opened, info) {
		return
	}
	switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return
	case err != nil && time.Since(info.ModTime()) < unlocked:
		return
	}
	if info.IsDir() {
		removeEmpty(dir, name, file)
		return
	}
	_ = dir.Remove(name)
}

// removeEmpty removes a directory that contains only such directories: another user's directory may have the same name.
func removeEmpty(dir *os.Root, name string, opened *os.File) {
	names, err := opened.Readdirnames(2)
	switch {
	case len(names) > 1 || err != nil && !errors.Is(err, io.EOF):
		return
	case len(names) == 1:
		below, err := dir.OpenRoot(name)
		if err != nil {
			return
		}
		defer below.Close()
		inner, err := below.Open(names[0])
		if err != nil {
			return
		}
		defer inner.Close()
		if info, err := inner.Stat(); err != nil || !info.IsDir() {
			return
		}
		removeEmpty(below, names[0], inner)
	}
	_ = dir.Remove(name) // fails if anything is left in it
}
