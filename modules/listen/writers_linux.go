package listen

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"os"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// written are the fanotify(7) events of a directory and its content.
const written = unix.FAN_CREATE | unix.FAN_DELETE | unix.FAN_MOVED_FROM | unix.FAN_MOVED_TO | unix.FAN_MODIFY |
	unix.FAN_CLOSE_WRITE | unix.FAN_ATTRIB | unix.FAN_EVENT_ON_CHILD | unix.FAN_ONDIR

// handleFID is AT_HANDLE_FID of linux/fcntl.h: it requests a handle that need not be usable to open anything.
const handleFID = 0x200

// maxStray is the number of moved directories that may stay marked.
const maxStray = 64

// openWriters opens a fanotify descriptor that names directories and their writers: it needs Linux 5.9 or later, and a
// right that root of a user namespace does not have. -1: writers are unknown.
func openWriters() int {
	if os.Geteuid() != 0 {
		return -1 // the kernel would hide the process
	}
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_DIR_FID|unix.FAN_REPORT_NAME|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY)
	if err != nil {
		return -1
	}
	return fd
}

// handleOf names a directory as the kernel does in an event; "" is one that it has no name for.
func handleOf(p string) string {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, p, 0)
	if err != nil {
		if handle, _, err = unix.NameToHandleAt(unix.AT_FDCWD, p, handleFID); err != nil {
			return ""
		}
	}
	var fs unix.Statfs_t
	if unix.Statfs(p, &fs) != nil {
		return ""
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(fs.Fsid.Val[0]))
	b = binary.NativeEndian.AppendUint32(b, uint32(fs.Fsid.Val[1]))
	b = binary.NativeEndian.AppendUint32(b, uint32(handle.Type()))
	return string(append(b, handle.Bytes()...))
}

// attribute starts or stops reporting the writers in a directory.
func (l *Listener) attribute(d *dir, on bool) {
	if l.fanotify < 0 || on == (d.handle != "") {
		return
	}
	if on {
		if unix.FanotifyMark(l.fanotify, unix.FAN_MARK_ADD|unix.FAN_MARK_ONLYDIR|unix.FAN_MARK_DONT_FOLLOW, written, unix.AT_FDCWD, d.path) == nil {
			if d.handle = handleOf(d.path); d.handle != "" {
				l.handles[d.handle] = append(l.handles[d.handle], d)
			}
		}
		return
	}
	handle := d.handle
	d.handle = ""
	var others []*dir
	for _, other := range l.handles[handle] {
		if other != d {
			others = append(others, other)
		}
	}
	if len(others) > 0 {
		l.handles[handle] = others
		return
	}
	delete(l.handles, handle)
	if handleOf(d.path) == handle {
		unix.FanotifyMark(l.fanotify, unix.FAN_MARK_REMOVE|unix.FAN_MARK_ONLYDIR|unix.FAN_MARK_DONT_FOLLOW, written, unix.AT_FDCWD, d.path)
		return
	}
	// It has moved, or no longer exists.
	if l.stray++; l.stray > maxStray {
		l.stray = 0
		unix.FanotifyMark(l.fanotify, unix.FAN_MARK_FLUSH, 0, unix.AT_FDCWD, "/")
		for _, all := range l.handles {
			for _, d := range all {
				unix.FanotifyMark(l.fanotify, unix.FAN_MARK_ADD|unix.FAN_MARK_ONLYDIR|unix.FAN_MARK_DONT_FOLLOW, written, unix.AT_FDCWD, d.path)
			}
		}
	}
}

// A write is an event of fanotify.
type write struct {
	pid    int
	handle string // handle of the directory
	name   string
}

// writes yields the events in data that was read from a fanotify descriptor. A truncated event at the end is ignored.
func writes(b []byte) iter.Seq[write] {
	const header, info, file = 24, 4 + 8, 8 // sizes of an event header, of the information before the handle, and of the handle's own header
	return func(yield func(write) bool) {
		for len(b) >= header {
			size := uint64(binary.NativeEndian.Uint32(b))
			if size < header || size > uint64(len(b)) {
				return
			}
			event := b[:size]
			b = b[size:]
			w := write{pid: int(int32(binary.NativeEndian.Uint32(event[20:])))}
			record := event[header:]
			if len(record) < info+file || record[0] != unix.FAN_EVENT_INFO_TYPE_DFID_NAME {
				continue
			}
			length := uint64(binary.NativeEndian.Uint16(record[2:]))
			if length > uint64(len(record)) || length < info+file {
				continue
			}
			record = record[4:length]
			n := uint64(binary.NativeEndian.Uint32(record[8:]))
			if n > uint64(len(record)-16) {
				continue
			}
			w.handle = string(record[:8]) + string(record[12:16+n])
			name, _, _ := bytes.Cut(record[16+n:], []byte{0})
			w.name = string(name)
			if !yield(w) {
				return
			}
		}
	}
}

// hearWriters reads writers, until no more are known.
func (l *Listener) hearWriters(buffer []byte) {
	if l.fanotify < 0 {
		return
	}
	known := map[int]Writer{}
	for {
		n, err := unix.Read(l.fanotify, buffer)
		if err != nil || n <= 0 {
			return
		}
		hint := Hint{Writers: map[int]Writer{}}
		for w := range writes(buffer[:n]) {
			if w.pid <= 0 || w.pid == os.Getpid() {
				continue
			}
			var sources []int
			for _, d := range l.handles[w.handle] {
				for _, t := range d.names[w.name] {
					sources = append(sources, t.sources...)
				}
				for _, t := range d.trees {
					sources = append(sources, t.sources...)
				}
			}
			if len(sources) == 0 {
				continue
			}
			who, ok := known[w.pid]
			if !ok {
				who = writer(w.pid)
				known[w.pid] = who
			}
			for _, i := range sources {
				hint.Writers[i] = who
			}
			hint.Sources = append(hint.Sources, sources...)
		}
		l.tell(hint)
	}
}

// writer describes a process while it exists.
func writer(pid int) Writer {
	w := Writer{PID: pid}
	proc := fmt.Sprintf("/proc/%d", pid)
	if program, err := os.Readlink(proc + "/exe"); err == nil {
		w.Program = strings.TrimSuffix(program, " (deleted)")
	} else if name, err := os.ReadFile(proc + "/comm"); err == nil {
		w.Program = strings.TrimSpace(string(name))
	}
	var s unix.Stat_t
	if unix.Stat(proc, &s) == nil {
		w.User = strconv.Itoa(int(s.Uid))
		if u, err := user.LookupId(w.User); err == nil {
			w.User = u.Username
		}
	}
	return w
}
