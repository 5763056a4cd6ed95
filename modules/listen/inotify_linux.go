package listen

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Events of a directory on the way to a target, and of a directory that contains the target. A file that is always open
// is never closed, so closing alone is not enough.
const (
	onTheWay = unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
		unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	atTheEnd = onTheWay | unix.IN_MODIFY | unix.IN_CLOSE_WRITE
	// entries of directories come, go, or are others.
	comesOrGoes = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ATTRIB
)

// An event is one of inotify(7).
type event struct {
	wd   int
	mask uint32
	name string // "" is the watched directory itself
}

// events yields the events in data that was read from an inotify descriptor. A truncated event at the end is ignored.
func events(b []byte) iter.Seq[event] {
	return func(yield func(event) bool) {
		for len(b) >= unix.SizeofInotifyEvent {
			size := uint64(binary.NativeEndian.Uint32(b[12:]))
			if size > uint64(len(b)-unix.SizeofInotifyEvent) {
				return
			}
			end := unix.SizeofInotifyEvent + int(size)
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:end], []byte{0})
			e := event{wd: int(int32(binary.NativeEndian.Uint32(b))), mask: binary.NativeEndian.Uint32(b[4:]), name: string(name)}
			if !yield(e) {
				return
			}
			b = b[end:]
		}
	}
}

// watchError explains why a directory cannot be watched. A directory that no longer exists has no reason: that is an
// event in its parent directory.
func watchError(path string, err error) string {
	switch {
	case err == nil, errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return ""
	case errors.Is(err, unix.ENOSPC):
		return "out of inotify watches, of which fs.inotify.max_user_watches allows " + setting("max_user_watches")
	case errors.Is(err, unix.EACCES):
		return "no right to read " + path
	}
	return fmt.Sprintf("inotify %s: %v", path, err)
}

// instanceError explains why inotify is not available at all.
func instanceError(err error) string {
	if errors.Is(err, unix.EMFILE) {
		return "out of inotify instances, of which fs.inotify.max_user_instances allows " + setting("max_user_instances")
	}
	return fmt.Sprintf("inotify: %v", err)
}

// setting reads a sysctl of inotify.
func setting(name string) string {
	text, err := os.ReadFile("/proc/sys/fs/inotify/" + name)
	if err != nil {
		return "too few"
	}
	return strings.TrimSpace(string(text))
}

// deaf are file systems that change without a word to inotify, and why.
var deaf = map[uint32]string{
	unix.NFS_SUPER_MAGIC:     "nfs: other hosts may change it",
	unix.SMB_SUPER_MAGIC:     "smb: other hosts may change it",
	unix.SMB2_SUPER_MAGIC:    "smb: other hosts may change it",
	unix.CIFS_SUPER_MAGIC:    "cifs: other hosts may change it",
	unix.CEPH_SUPER_MAGIC:    "ceph: other hosts may change it",
	unix.AFS_SUPER_MAGIC:     "afs: other hosts may change it",
	unix.CODA_SUPER_MAGIC:    "coda: other hosts may change it",
	unix.OCFS2_SUPER_MAGIC:   "ocfs2: other hosts may change it",
	unix.V9FS_MAGIC:          "9p: it may be changed from elsewhere",
	unix.FUSE_SUPER_MAGIC:    "fuse: it may be changed from elsewhere",
	unix.PROC_SUPER_MAGIC:    "the kernel sends no events for /proc",
	unix.SYSFS_MAGIC:         "the kernel sends no events for /sys",
	unix.CGROUP_SUPER_MAGIC:  "the kernel sends no events for control groups",
	unix.CGROUP2_SUPER_MAGIC: "the kernel sends no events for control groups",
}

// deafness returns why changes in a directory may cause no events although it is watched.
func deafness(path string) string {
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil {
		return ""
	}
	return deaf[uint32(fs.Type)] // it has another width on each architecture
}
