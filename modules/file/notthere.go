package file

import (
	"errors"
	"io/fs"
	"syscall"
)

// notThere reports whether an error means that there is nothing at a path.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
