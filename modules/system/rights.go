package system

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// rights implements [modules.FileRights] for the effective ids of the process. Where possible, it queries the kernel,
// which knows access lists, capabilities, flags such as "immutable" and mounts.
type rights struct{ mounts *mountinfo.Live }

// denied is a refusal that is known beforehand.
type denied struct {
	reason string
	all    bool // users, whatever owner and mode are
}

func (d denied) Error() string { return d.reason }

// Is makes it fs.ErrPermission.
func (d denied) Is(target error) bool {
	return target == fs.ErrPermission || d.all && target == modules.ErrKernelRefuses
}

func deny(format string, args ...any) error { return denied{reason: fmt.Sprintf(format, args...)} }

// denyAll is [deny] for operations that no user may do.
func denyAll(format string, args ...any) error { return denied{fmt.Sprintf(format, args...), true} }

// MayReplace implements [modules.FileRights]. A directory that is not there is
// for others to report.
func (r rights) MayReplace(path string) error {
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
		return deny(`user %d may not reach %q; use "become"`, os.Geteuid(), dir)
	case err != nil || !around.IsDir():
		return ifThere(err)
	}
	if of := kernelFiles(dir); of != "" {
		return denyAll("%q is in %s: files there cannot be created, replaced or removed; use an exec that writes to the file, or the type sysctl below /proc/sys", path, of)
	}
	return cmp.Or(
		mayAccess(dir, unix.W_OK|unix.X_OK, "write in"),
		unflagged(dir, true, "nothing in it can be replaced or removed"), // a new file is made under another name, which goes
		unflagged(path, false, "it cannot be replaced or removed"),
		mayAccess(dir, unix.R_OK, "read"), // the directory is opened, to stay in it and to sync it
		mayUnlink(around, path),
		modules.MountedAt(path, r.MountPoints(path)),
	)
}

// MountPoints implements [modules.FileRights].
func (r rights) MountPoints(path string) []modules.MountPoint {
	place, err := rooted.Parent(path)
	if err != nil {
		return nil // which is for others to report
	}
	defer place.Close()
	return rooted.MountPoints(r.mounts.Table(), place.FD(), place.Name)
}

// Binds implements [modules.FileRights].
func (r rights) Binds() map[string]string { return r.mounts.Table().Binds() }

// unflagged returns an error if a flag of chattr(1) prevents even root from an operation on a path. With follow it
// checks the target of a link.
func unflagged(path string, follow bool, refused string) error {
	if flag, lift := flagOf(path, follow); flag != "" {
		return denyAll("%q is %s, so %s; run %s %s first", path, flag, refused, lift, path)
	}
	return nil
}

// mayAccess checks a mode of access(2); verb is its word in the error.
func mayAccess(path string, mode uint32, verb string) error {
	switch err := access(path, mode); err {
	case unix.EACCES, unix.EPERM:
		if err := unflagged(path, true, "nothing can be made, replaced or removed in it"); err != nil {
			return err
		}
		if os.Geteuid() == 0 {
			return denyAll("the kernel does not let root %s %q", verb, path)
		}
		return deny(`user %d may not %s %q; use "become"`, os.Geteuid(), verb, path)
	case unix.EROFS:
		return readOnly(path)
	default:
		return at("access", path, err)
	}
}

func readOnly(path string) error { return denyAll("the file system of %q is mounted read-only", path) }

// ifThere drops errors that mean that the path does not exist.
func ifThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}

// mayUnlink checks whether a sticky directory protects the object at path: there, only its owner, the directory's owner
// and root may remove a file (unlink(2)).
func mayUnlink(dir fs.FileInfo, path string) error {
	if dir.Mode()&fs.ModeSticky == 0 || owns(dir) {
		return nil
	}
	file, err := os.Lstat(path)
	if err != nil || owns(file) {
		return ifThere(err)
	}
	return deny(`%q belongs to user %d and its directory is sticky, so user %d may not replace or remove it; use "become"`,
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
	have, flagged := describe(info), unflagged(path, false, "its owner and mode cannot be changed")
	switch {
	case mount.Flags&readOnlyMount != 0:
		return readOnly(path)
	case !owns(info):
		return deny(`%q belongs to user %d, so user %d may not change its owner or mode; use "become"`, path, have.UID, os.Geteuid())
	case flagged != nil:
		return flagged
	case a.GID < 0 || a.GID == have.GID:
		if setsGID(have, a) && mayGive(modules.Attributes{UID: -1, GID: have.GID}) != nil {
			return deny(`user %d is not in group %d of %q, so the kernel removes the setgid bit whenever the mode changes; use "become"`, os.Geteuid(), have.GID, path)
		}
		a.GID = -1 // no change, so it may be a group that the owner is not in
	}
	return mayGive(a)
}

// mayRelabel checks that the object at path is the one that its links suggest. Errors of reading it are left to other
// checks.
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

// setsGID reports whether a path has the setgid bit once it is given a.
func setsGID(have modules.FileInfo, a modules.Attributes) bool {
	switch {
	case a.KeepMode:
		return have.Mode&fs.ModeSetgid != 0
	case have.Kind == modules.Directory && !a.Exact && have.Mode&fs.ModeSetgid != 0:
		return true
	}
	return a.Mode&fs.ModeSetgid != 0
}

// mapped refuses an id outside of the user namespace of the process: chown(2) returns EINVAL for it.
func mapped(kind, file string, id int) error {
	if id <= 0 {
		return nil // unchanged, or root's, which each namespace has
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil // there are no user namespaces
	}
	for line := range strings.Lines(string(text)) {
		var first, outside, count int64
		if n, _ := fmt.Sscan(line, &first, &outside, &count); n == 3 && int64(id) >= first && int64(id) < first+count {
			return nil
		}
	}
	return denyAll("%s %d is not in the user namespace of this host (%s), so no file can be given to it", kind, id, file)
}

// mayGive checks whether a file of the own user may be given to the owner and group of a (chown(2)).
func mayGive(a modules.Attributes) error {
	euid := os.Geteuid()
	if err := cmp.Or(mapped("user", "/proc/self/uid_map", a.UID), mapped("group", "/proc/self/gid_map", a.GID)); err != nil {
		return err
	}
	if euid == 0 {
		return nil
	}
	if a.UID >= 0 && a.UID != euid {
		return deny(`user %d may not give files to user %d; use "become"`, euid, a.UID)
	}
	if a.GID < 0 || a.GID == os.Getegid() {
		return nil
	}
	groups, err := os.Getgroups()
	if err == nil && !slices.Contains(groups, a.GID) {
		err = deny(`user %d may not give files to group %d, which it is not in; use "become"`, euid, a.GID)
	}
	return err
}
