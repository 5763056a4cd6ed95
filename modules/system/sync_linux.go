package system

import (
	"os"

	"golang.org/x/sys/unix"
)

// Sync implements [modules.DirectoryOpener].
func (f *files) Sync(dir *os.Root) error {
	defer f.changed()
	return syncAll(dir)
}

// syncAll syncs all data written to the file system of a directory.
func syncAll(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	if err := unix.Syncfs(int(d.Fd())); err != nil {
		return &os.PathError{Op: "sync", Path: dir.Name(), Err: err}
	}
	return nil
}
