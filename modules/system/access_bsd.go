//go:build darwin || freebsd

package system

import "golang.org/x/sys/unix"

// access is access(2) for the effective ids.
func access(path string, mode uint32) error {
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
}
