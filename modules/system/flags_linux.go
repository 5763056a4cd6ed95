package system

import "golang.org/x/sys/unix"

// flagOf returns the flag of a path that keeps root from changing it, and the program that lifts it;
// "" if there is none, or the file system does not tell.
func flagOf(path string, follow bool) (flag, lift string) {
	flags := unix.AT_NO_AUTOMOUNT
	if !follow {
		flags |= unix.AT_SYMLINK_NOFOLLOW
	}
	var x unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, flags, unix.STATX_TYPE, &x); err != nil {
		return "", ""
	}
	switch {
	case x.Attributes&unix.STATX_ATTR_IMMUTABLE != 0:
		return "immutable", "chattr -i"
	case x.Attributes&unix.STATX_ATTR_APPEND != 0:
		return "append-only", "chattr -a"
	}
	return "", ""
}
