//go:build darwin || freebsd

package rooted

import "io/fs"

// Xattrs returns nil: extended attributes are supported on Linux only.
func Xattrs(int) ([]string, error) { return nil, nil }

// SetXattrs does nothing.
func SetXattrs(int, []string, fs.FileMode) error { return nil }
