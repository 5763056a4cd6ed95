package rooted

import (
	"errors"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
)

// RemoveTree removes a name from a directory, with everything below it. It follows no link and enters no other mount:
// if something is mounted there, it removes nothing, and the error is a [modules.MountedError]. If something is mounted
// during the removal, it stops there. It is the only function here that removes a tree, since [os.Root.RemoveAll]
// enters mounts.
func RemoveTree(dir *os.Root, name string) error {
	top, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer top.Close()
	full := path.Join(dir.Name(), name)
	if err := modules.Mounted(full, MountPoints(new(mountinfo.Live).Table(), int(top.Fd()), name)); err != nil {
		return err
	}
	return removeTree(top, name, full)
}

// removeTree removes piece by piece, and stops at the first error.
func removeTree(dir *os.File, name, full string) error {
	err := unix.Unlinkat(int(dir.Fd()), name, 0)
	switch err {
	case nil, unix.ENOENT:
		return nil
	case unix.EISDIR, unix.EPERM, unix.EACCES: // a directory; POSIX has EPERM for it
	default:
		return notRemoved(full, err)
	}
	opened, openErr := openSameMount(dir, name)
	switch {
	case openErr == unix.ENOTDIR || isLink(openErr):
		return notRemoved(full, err)
	case openErr != nil:
		return notRemoved(full, openErr)
	}
	defer opened.Close()
	for {
		const some = 1024
		names, err := opened.Readdirnames(some)
		for _, below := range names {
			if err := removeTree(opened, below, path.Join(full, below)); err != nil {
				return err
			}
		}
		if len(names) == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return notRemoved(full, Cause(err))
			}
			break
		}
		// Removals may have moved the other entries.
		if _, err := opened.Seek(0, io.SeekStart); err != nil {
			return notRemoved(full, Cause(err))
		}
	}
	return notRemoved(full, unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR))
}

// notRemoved words an error of removing a path: EBUSY and EXDEV are of mount points.
func notRemoved(full string, err error) error {
	switch err {
	case nil, unix.ENOENT:
		return nil
	case unix.EBUSY, unix.EXDEV:
		return modules.Mounted(full, []modules.MountPoint{{Path: full}})
	}
	return &os.PathError{Op: "remove", Path: full, Err: err}
}
