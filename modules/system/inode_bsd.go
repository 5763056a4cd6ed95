//go:build darwin || freebsd

package system

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// An inode is the object at a path: a name in a directory that is open.
type inode struct {
	dir  int
	name string
	stat unix.Stat_t
}

// openInode finds the object of a name in a directory, which stays open. A symbolic link is ELOOP.
func openInode(dir int, name string) (*inode, error) {
	n := &inode{dir: dir, name: name}
	err := unix.Fstatat(dir, name, &n.stat, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && n.stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		err = unix.ELOOP
	}
	return n, err
}

func (n *inode) chown(uid, gid int) error {
	return unix.Fchownat(n.dir, n.name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
}

func (n *inode) chmod(mode uint32) error {
	return unix.Fchmodat(n.dir, n.name, mode, unix.AT_SYMLINK_NOFOLLOW)
}

func (n *inode) xattrs() ([]string, error) { return nil, nil }

func (n *inode) setXattrs([]string, fs.FileMode) error { return nil }

func (n *inode) close() {}
