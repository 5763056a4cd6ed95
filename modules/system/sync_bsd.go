//go:build !linux

package system

import (
	"os"

	"golang.org/x/sys/unix"
)

// Sync implements [modules.DirectoryOpener]. There is no call for one file
// system.
func (f *files) Sync(*os.Root) error {
	defer f.changed()
	return syncAll(nil)
}

// syncAll brings all to the disk that has been written.
func syncAll(*os.Root) error { return unix.Sync() }
