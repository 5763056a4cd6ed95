//go:build darwin || freebsd

package system

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// inode is what was found at a path: a name in a directory that is held open.
type inode struct {
	dir  int
	name string
	stat unix.Stat_t
}

// openInode finds what is at path. A symbolic link is ELOOP.
func openInode(path string) (*inode, error) {
	dir, err := unix.Open(filepath.Dir(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n := &inode{dir: dir, name: filepath.Base(path)}
	if n.name == "/" {
		n.name = "."
	}
	err = unix.Fstatat(dir, n.name, &n.stat, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && n.stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		err = unix.ELOOP
	}
	if err != nil {
		unix.Close(dir)
		return nil, err
	}
	return n, nil
}

func (n *inode) chown(uid, gid int) error {
	return unix.Fchownat(n.dir, n.name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
}

func (n *inode) chmod(mode uint32) error {
	return unix.Fchmodat(n.dir, n.name, mode, unix.AT_SYMLINK_NOFOLLOW)
}

func (n *inode) close() { unix.Close(n.dir) }
