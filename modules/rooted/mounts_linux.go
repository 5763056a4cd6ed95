package rooted

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
)

// MountPoints returns the mount points at a name in an opened directory, or below it. It includes mounts that were made
// at another path, through a bind mount of the directory. dir may be a descriptor with O_PATH.
func MountPoints(table mountinfo.Table, dir int, name string) []modules.MountPoint {
	id, err := mountID(dir)
	if err != nil {
		return nil
	}
	at, err := os.Readlink(ProcPath(dir))
	if err != nil {
		return nil
	}
	place, ok := table.Place(id, path.Join(at, name))
	if !ok {
		return nil
	}
	var all []modules.MountPoint
	for _, f := range table.On(place) {
		p := modules.MountPoint{Path: f.Point, Below: f.Below, ReadOnly: slices.Contains(f.Options, "ro")}
		same := func(o modules.MountPoint) bool { return o.Path == p.Path && o.Below == p.Below }
		all = append(slices.DeleteFunc(all, same), p) // the later mount hides the earlier one
	}
	return all
}

// mountID returns the id of the mount that an opened file is on.
func mountID(fd int) (int, error) {
	var x unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &x); err == nil && x.Mask&unix.STATX_MNT_ID != 0 {
		return int(x.Mnt_id), nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd)) // before Linux 5.8
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "mnt_id:")
	line, _, _ := strings.Cut(rest, "\n")
	return strconv.Atoi(strings.TrimSpace(line))
}

// openSameMount opens a directory to list it, if it is on the same mount. Otherwise the error is EXDEV.
func openSameMount(dir *os.File, name string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS})
	if err == unix.ENOSYS || err == unix.EPERM { // before Linux 5.6, or a filter that does not know the call
		if fd, err = unix.Openat(int(dir.Fd()), name, flags, 0); err == nil {
			above, wrong := mountID(int(dir.Fd()))
			id, err := mountID(fd)
			if wrong != nil || err != nil || id != above {
				unix.Close(fd)
				return nil, unix.EXDEV
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
