package rooted

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
	"unsafe"

	"github.com/ccm-push/ccm-push/modules"
)

const (
	accessList = "system.posix_acl_access"
	label      = "security.selinux"
)

// handed reports whether an extended attribute belongs to a file rather than to the kernel, which manages others, such
// as hashes of the content.
func handed(name string) bool {
	for _, begin := range [...]string{"user.", "system.posix_acl_", label, "trusted.", modules.Capability} {
		if strings.HasPrefix(name, begin) {
			return utf8.ValidString(name)
		}
	}
	return false
}

// Xattrs returns the extended attributes of an open descriptor, also with O_PATH, as far as this process may read them:
// user attributes, access lists, the SELinux label, trusted attributes and capabilities. They are sorted, each as its
// name, "=" and its value in hexadecimal digits. The parts of an access list that the mode contains are 0. nil means
// that the file system does not support attributes, or that /proc is missing.
func Xattrs(fd int) ([]string, error) {
	path := ProcPath(fd)
	n, errno := xattr(syscall.SYS_LISTXATTR, path, "", nil)
	if ignored(errno) {
		return nil, nil
	}
	found := []string{}
	if n > 0 && errno == 0 {
		const most = 64 << 10 // XATTR_LIST_MAX and XATTR_SIZE_MAX (linux/limits.h)
		names, value := make([]byte, most), make([]byte, most)
		n, errno = xattr(syscall.SYS_LISTXATTR, path, "", names)
		for name := range strings.SplitSeq(string(names[:max(n, 0)]), "\x00") {
			if !handed(name) || errno != 0 {
				continue
			}
			if n, errno = xattr(syscall.SYS_GETXATTR, path, name, value); errno == 0 {
				modeInto(name, value[:n], 0)
				found = append(found, name+"="+hex.EncodeToString(value[:n]))
			} else if errno == syscall.ENODATA || ignored(errno) {
				errno = 0
			}
		}
	}
	if errno != 0 {
		return nil, errno
	}
	slices.Sort(found)
	return found, nil
}

// SetXattrs sets the extended attributes to values from [Xattrs]. It never removes a label. An access list gets the
// permissions of mode. It is an error if an access list cannot be set; other attributes are omitted if this process may
// not set them, or the file system does not support them.
func SetXattrs(fd int, want []string, mode fs.FileMode) error {
	have, err := Xattrs(fd)
	if err != nil {
		return err
	}
	// Backwards: after the access list is set, the owner may have lost the right to set attributes of users.
	for i, one := range slices.Backward(append(have, want...)) {
		name, digits := modules.CutXattr(one)
		value, _ := hex.DecodeString(digits)
		call := uintptr(syscall.SYS_SETXATTR)
		if i < len(have) {
			if call = syscall.SYS_REMOVEXATTR; name == label || modules.HasXattr(want, name) {
				continue
			}
		}
		modeInto(name, value, mode)
		if _, errno := xattr(call, ProcPath(fd), name, value); errno != 0 && (!ignored(errno) || strings.HasPrefix(name, "system.")) {
			return fmt.Errorf("extended attribute %s: %w", name, errno)
		}
	}
	return nil
}

// ignored reports whether an error means that the attribute is not supported here, or not permitted to this process.
func ignored(errno syscall.Errno) bool {
	switch errno {
	case syscall.ENOTSUP, syscall.EPERM, syscall.EACCES, syscall.ENOSYS, syscall.ENOENT:
		return true
	}
	return false
}

// modeInto puts permission bits into the entries of an access list that correspond to the mode: the entries for others,
// the mask and the owner (acl(5)). The entries follow a version of 4 bytes; each has 2 bytes of tag, 2 of permissions
// and 4 of id, little-endian (linux/posix_acl_xattr.h).
func modeInto(name string, value []byte, mode fs.FileMode) {
	for at := 4; name == accessList && at+8 <= len(value); at += 8 {
		if class := strings.IndexByte("\x20\x10\x01", value[at]); class >= 0 {
			value[at+2] = byte(mode >> (3 * class) & 7)
		}
	}
}

// ProcPath is a path to the file of an open descriptor of this process, even if the file has been moved since. The
// kernel does not resolve it by name, so no user can plant a link on it.
func ProcPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// xattr is one of the calls of xattr(7), which take path, name, value, size and flags, in this order. If name is empty,
// the call is one without a name.
func xattr(call uintptr, path, name string, value []byte) (int, syscall.Errno) {
	path, name = path+"\x00", name+"\x00"
	p, data, size := unsafe.StringData(path), unsafe.SliceData(value), uintptr(len(value))
	if name == "\x00" {
		n, _, errno := syscall.Syscall(call, uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(data)), size)
		return int(n), errno
	}
	n, _, errno := syscall.Syscall6(call, uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(unsafe.StringData(name))), uintptr(unsafe.Pointer(data)), size, 0, 0)
	return int(n), errno
}
