// Package rooted extends [os.Root] for the host program: it writes files so that they are complete or absent, even
// after a crash.
package rooted

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// SyncDir makes the names in a directory last.
func SyncDir(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil // a file system whose directories need no sync
	}
	return err
}

// Link adds another name for a file, in the same directory or another one. A symbolic link is not followed.
func Link(from *os.Root, name string, to *os.Root, as string) error {
	old, err := from.Open(".")
	if err != nil {
		return err
	}
	defer old.Close()
	next, err := to.Open(".")
	if err != nil {
		return err
	}
	defer next.Close()
	return unix.Linkat(int(old.Fd()), name, int(next.Fd()), as, 0)
}

// UntilDone reads from In until Ctx ends.
type UntilDone struct {
	Ctx context.Context
	In  io.Reader
}

// Read implements [io.Reader].
func (u UntilDone) Read(p []byte) (int, error) {
	if err := u.Ctx.Err(); err != nil {
		return 0, err
	}
	return u.In.Read(p)
}

// Cause strips the names that the os package puts around an error: the name of a temporary file does not help the
// reader.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}
