package rooted

import (
	"os"

	"golang.org/x/sys/unix"
)

// openDir opens a directory to go on from, which needs no right to read it.
const openDir = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

// openPath opens what can be used as a path only, a link itself included.
const openPath = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC

// readLink reads a link that it has opened, so that owner and target are those of one.
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

// openPlain opens a file if no link is on the way to it, so that nothing has to be
// judged: one call instead of two for each element. It gives nil where there is a link,
// where the call is not known (before Linux 5.6) or not let through, and for any other
// error, which the walk finds again.
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
