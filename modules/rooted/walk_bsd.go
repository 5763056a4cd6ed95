//go:build darwin || freebsd

package rooted

import (
	"os"

	"golang.org/x/sys/unix"
)

// openDir opens a directory as the start of a next step, without the right to read it.
const openDir = unix.O_SEARCH | unix.O_DIRECTORY | unix.O_CLOEXEC

// openPath holds the flags to open a path without following a link. These systems need no others.
const openPath = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC

// readLink reads a link that is the same before and after.
func readLink(dir int, name string) (target string, st unix.Stat_t, err error) {
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return "", st, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", st, unix.ENOTDIR
	}
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buffer)
	if err != nil {
		return "", st, err
	}
	var again unix.Stat_t
	if err := unix.Fstatat(dir, name, &again, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return "", st, err
	}
	if again.Dev != st.Dev || again.Ino != st.Ino || again.Ctim != st.Ctim {
		return "", st, errExchanged
	}
	return string(buffer[:n]), st, nil
}

// openPlain opens nothing: BSDs have no call for it.
func openPlain(string) *os.File { return nil }
