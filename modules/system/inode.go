package system

import "golang.org/x/sys/unix"

// mode returns the permission, setuid, setgid and sticky bits in the form of the kernel, and whether this is a
// directory.
func (n *inode) mode() (bits uint32, directory bool) {
	m := uint32(n.stat.Mode)
	return m & 0o7777, m&unix.S_IFMT == unix.S_IFDIR
}
