package system

import (
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules/rooted"
)

// An inode is the object at a path, held open: the calls act on it, wherever the path leads later.
type inode struct {
	fd   int // opened with O_PATH, which needs no permission and wakes no device
	stat unix.Stat_t
}

// openInode finds the object of a name in a directory. A symbolic link is ELOOP.
func openInode(dir int, name string) (*inode, error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n := &inode{fd: fd}
	if err = unix.Fstat(fd, &n.stat); err == nil && n.stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		err = unix.ELOOP
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return n, nil
}

func (n *inode) chown(uid, gid int) error {
	return unix.Fchownat(n.fd, "", uid, gid, unix.AT_EMPTY_PATH)
}

// chmod goes through /proc because fchmod(2) refuses O_PATH, and fchmodat2(2)
// is there since Linux 6.6 only.
func (n *inode) chmod(mode uint32) error {
	err := unix.Chmod("/proc/self/fd/"+strconv.Itoa(n.fd), mode)
	if err == unix.ENOENT { // no /proc
		err = unix.Fchmodat(n.fd, "", mode, unix.AT_EMPTY_PATH)
	}
	return err
}

func (n *inode) xattrs() ([]string, error) { return rooted.Xattrs(n.fd) }

func (n *inode) setXattrs(want []string, mode fs.FileMode) error {
	return rooted.SetXattrs(n.fd, want, mode)
}

func (n *inode) close() { unix.Close(n.fd) }
