package mountinfo

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Live is the table of the mounts of this process. It reads [File] again only after the kernel has
// reported a change. The zero value is ready to use.
type Live struct {
	mu    sync.Mutex
	file  *os.File
	table Table
}

// maxFile is the maximum length of [File], in bytes. The rest is not read.
const maxFile = 64 << 20

// Table returns the current mounts, for reading only. It is empty if the file does not exist.
func (l *Live) Table() Table {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		// [os.Open] would have the runtime poll the file, and the kernel reports each change once.
		fd, err := unix.Open(File, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		l.file = os.NewFile(uintptr(fd), File)
	} else if !l.changed() {
		return l.table
	}
	l.table = nil
	if _, err := l.file.Seek(0, io.SeekStart); err == nil {
		text, _ := io.ReadAll(io.LimitReader(l.file, maxFile)) // after an error, the text before it is used
		l.table = NewTable(string(text))
	}
	return l.table
}

// changed reports whether the kernel has reported a change (proc_pid_mounts(5)), or may have.
func (l *Live) changed() bool {
	fds := []unix.PollFd{{Fd: int32(l.file.Fd()), Events: unix.POLLPRI}}
	n, err := unix.Poll(fds, 0)
	return n > 0 || err != nil
}
