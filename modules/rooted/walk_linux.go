package rooted

import (
	"os"

	"golang.org/x/sys/unix"
)

// openDir opens a directory as the start of a next step, without the right to read it.
const openDir = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

// openPath opens a file for use as a path only, also a link itself.
const openPath = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC

// readLink opens a link and reads it, so that owner and target belong to the same link.
func readLink(dir int, name string) (target string, st unix.Stat_t, err error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", st, err
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil {
		return "", st, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", st, unix.ENOTDIR
	}
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buffer)
	return string(buffer[:max(n, 0)]), st, err
}

// openPlain opens a file if no link is on the way to it, so that no link has to be checked: one call instead of two for
// each element. It returns nil if there is a link, if the call is unknown (before Linux 5.6) or blocked, and for any
// other error, which the walk finds again.
func openPlain(name string) *os.File {
	fd, err := unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), name)
}
