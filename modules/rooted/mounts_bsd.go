//go:build darwin || freebsd

package rooted

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
)

// MountPoints returns nothing: these systems have no such list.
func MountPoints(mountinfo.Table, int, string) []modules.MountPoint { return nil }

// openSameMount opens a directory to list it, if it is on the same file system. Otherwise the error is
// EXDEV.
func openSameMount(dir *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var above, at unix.Statfs_t
	if unix.Fstatfs(int(dir.Fd()), &above) != nil || unix.Fstatfs(fd, &at) != nil || above.Fsid != at.Fsid {
		unix.Close(fd)
		return nil, unix.EXDEV
	}
	return os.NewFile(uintptr(fd), name), nil
}
