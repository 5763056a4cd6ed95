package system

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// rights implements [modules.FileRights] for the ids that the process acts as.
// It asks the kernel, which knows about access lists and capabilities, wherever
// the kernel can be asked; file flags such as "immutable" it does not see.
type rights struct{}

// denied is a refusal that is known beforehand.
type denied struct{ reason string }

func (d denied) Error() string { return d.reason }

// Unwrap makes it fs.ErrPermission.
func (denied) Unwrap() error { return fs.ErrPermission }

func deny(format string, args ...any) error { return denied{fmt.Sprintf(format, args...)} }

// MayReplace implements [modules.FileRights]. A directory that is not there is
// for others to report.
func (rights) MayReplace(path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := rooted.Judge(dir); err != nil {
		return err
	}
	around, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return deny("user %d may not reach %q; use become", os.Geteuid(), dir)
	case err != nil || !around.IsDir():
		return ifThere(err)
	}
	return cmp.Or(
		mayAccess(dir, unix.W_OK|unix.X_OK, "write in"),
		mayAccess(dir, unix.R_OK, "read"), // the directory is opened, to stay in it and to sync it
		mayUnlink(around, path),
	)
}

// mayAccess asks for a mode of access(2), which verb says in words.
func mayAccess(path string, mode uint32, verb string) error {
	switch err := access(path, mode); err {
	case unix.EACCES, unix.EPERM:
		return deny("user %d may not %s %q; use become", os.Geteuid(), verb, path)
	case unix.EROFS:
		return readOnly(path)
	default:
		return at("access", path, err)
	}
}

func readOnly(path string) error { return deny("the file system of %q is mounted read-only", path) }

// ifThere drops the errors that mean that there is nothing.
func ifThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}

// mayUnlink asks whether a sticky directory keeps what is at path: there, only
// its owner, the directory's owner and root remove a file (unlink(2)).
func mayUnlink(dir fs.FileInfo, path string) error {
	if dir.Mode()&fs.ModeSticky == 0 || owns(dir) {
		return nil
	}
	file, err := os.Lstat(path)
	if err != nil || owns(file) {
		return ifThere(err)
	}
	return deny("%q belongs to user %d and its directory is sticky, so user %d may not replace or remove it; use become",
		path, describe(file).UID, os.Geteuid())
}

// owns reports whether the process is the owner of a file, or as good as that.
func owns(info fs.FileInfo) bool {
	euid := os.Geteuid()
	return euid == 0 || describe(info).UID == euid
}

// MaySetAttributes implements [modules.FileRights].
func (rights) MaySetAttributes(path string, a modules.Attributes) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if err := mayRelabel(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return ifThere(err)
	}
	var mount unix.Statfs_t
	if err := unix.Statfs(path, &mount); err != nil {
		return at("statfs", path, err)
	}
	have := describe(info)
	switch {
	case mount.Flags&readOnlyMount != 0:
		return readOnly(path)
	case !owns(info):
		return deny("%q belongs to user %d, so user %d may not change its owner or mode; use become", path, have.UID, os.Geteuid())
	case a.GID < 0 || a.GID == have.GID:
		if have.Mode&fs.ModeSetgid == 0 && a.Mode&fs.ModeSetgid != 0 {
			a.GID = have.GID
			break
		}
		a.GID = -1 // no change, so it may be a group that the owner is not in
	}
	return mayGive(a)
}

// mayRelabel asks whether what is at path is what it seems to be. What cannot be
// looked at is for others to report.
func mayRelabel(path string) error {
	place, err := rooted.Parent(path)
	if err != nil {
		if errors.Is(err, modules.ErrPlanted) {
			return err
		}
		return nil
	}
	defer place.Close()
	node, err := openInode(place.FD(), place.Name)
	if err != nil {
		return nil
	}
	defer node.close()
	dir, err := place.Dir()
	if err != nil {
		return err
	}
	return modules.Relabel(path, rooted.Describe(&node.stat), dir, os.Geteuid())
}

// readOnlyMount is ST_RDONLY of Linux and MNT_RDONLY of the BSDs.
const readOnlyMount = 1

// MayCreate implements [modules.FileRights].
func (rights) MayCreate(a modules.Attributes) error { return mayGive(a) }

// mayGive asks whether a file of the own user may be given to the owner and
// group of a (chown(2)).
func mayGive(a modules.Attributes) error {
	euid := os.Geteuid()
	if euid == 0 {
		return nil
	}
	if a.UID >= 0 && a.UID != euid {
		return deny("user %d may not give files to user %d; use become", euid, a.UID)
	}
	if a.GID < 0 || a.GID == os.Getegid() {
		return nil
	}
	groups, err := os.Getgroups()
	if err == nil && !slices.Contains(groups, a.GID) {
		err = deny("user %d may not give files to group %d, which it is not in; use become", euid, a.GID)
	}
	return err
}
