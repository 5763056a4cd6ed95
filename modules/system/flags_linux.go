package system

import "golang.org/x/sys/unix"

// kernelFiles returns the name of the file system of a directory if the kernel makes all its files, although
// access(2) has no objection to others; otherwise "".
func kernelFiles(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return ""
	}
	switch int64(st.Type) {
	case unix.PROC_SUPER_MAGIC:
		return "procfs"
	case unix.SYSFS_MAGIC:
		return "sysfs"
	case unix.SECURITYFS_MAGIC:
		return "securityfs"
	case unix.SELINUX_MAGIC:
		return "selinuxfs"
	}
	return ""
}

// flagOf returns the flag of a path that prevents changes by root, and the program that removes it; "" if there is
// none, or the file system does not report it.
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
