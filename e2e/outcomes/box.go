package outcomes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
)

// A Box is a host, or the machine of ccm-push, as the drive sees it: past SSH.
type Box struct {
	Name string
	Link *faultproxy.Proxy // the way to it; nil for the controller
	// Root is the path from here to its root folder.
	Root func() string
	// Processes lists its processes.
	Processes func() []int
	// Restart kills all of its processes, and boots it after a while.
	Restart func(after time.Duration) error
	// HasRoom reports whether its notes and the tree have small file systems of their own, which can be filled.
	HasRoom bool

	mu    sync.Mutex
	size  int64 // of the log, when it was last read
	lines int
}

func (b *Box) path(name string) string { return filepath.Join(b.Root(), name) }

// clear removes what a case left, and writes what the next one needs.
func (b *Box) clear(files map[string]string) error {
	for _, folder := range []string{Folder, Tree, "/var/lib/ccm-push", "/run/ccm-push"} {
		entries, err := os.ReadDir(b.path(folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if folder+"/"+e.Name() == Tree { // a mount
				continue
			}
			if err := os.RemoveAll(filepath.Join(b.path(folder), e.Name())); err != nil {
				return err
			}
		}
	}
	for _, folder := range []string{Tree, Marks} {
		if err := os.MkdirAll(b.path(folder), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(b.path(Do), []byte(DoScript), 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(b.path(name), []byte(text), 0o640); err != nil {
			return err
		}
	}
	b.size, b.lines = 0, 0
	return os.WriteFile(b.path(Log), nil, 0o644)
}

// logged is how many lines its commands wrote down.
func (b *Box) logged() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	info, err := os.Stat(b.path(Log))
	if err != nil || info.Size() == b.size {
		return b.lines
	}
	text, err := os.ReadFile(b.path(Log))
	if err != nil {
		return b.lines
	}
	b.size, b.lines = int64(len(text)), bytes.Count(text, []byte("\n"))
	return b.lines
}

// snapshot reads the tree.
func (b *Box) snapshot() (Snapshot, error) {
	all, root := Snapshot{}, b.path(Tree)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root || e.Name() == "fill" {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		owner := info.Sys().(*syscall.Stat_t)
		is := fmt.Sprintf("%s %d:%d", info.Mode(), owner.Uid, owner.Gid)
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			is += fmt.Sprintf(" %q", text)
		}
		all[Tree+strings.TrimPrefix(path, root)] = is
		return nil
	})
	return all, err
}

// busy says what still runs: a command of the case, or a host program.
func (b *Box) busy() string {
	for _, pid := range b.Processes() {
		if args := arguments(pid); strings.Contains(args, Do+" ") || isProgram(args) {
			return args
		}
	}
	return ""
}

// arguments is the command line of a process, with blanks; empty if it is gone.
func arguments(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(bytes.TrimRight(bytes.ReplaceAll(text, []byte{0}, []byte{' '}), " ")) + " "
}

// isProgram reports whether it is the host program; sudo and shells that start it are not.
func isProgram(args string) bool {
	name, rest, _ := strings.Cut(args, " ")
	return strings.HasPrefix(rest, "serve ") && strings.Contains(name, "ccm-")
}

func isSession(args string) bool { return strings.HasPrefix(args, "sshd: root@") }

// signal sends a signal to all of its processes whose command line is right. It reports whether there was one.
func (b *Box) signal(number int, right func(args string) bool) bool {
	any := false
	for _, pid := range b.Processes() {
		if right(arguments(pid)) {
			any = syscall.Kill(pid, syscall.Signal(number)) == nil || any
		}
	}
	return any
}

// fill takes all room of a folder, or gives it back.
func (b *Box) fill(folder string, full bool) error {
	path := filepath.Join(b.path(folder), "fill")
	if !full {
		return os.RemoveAll(path)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Descendants lists a process and all that come from it.
func Descendants(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, file := range tasks {
			text, _ := os.ReadFile(file)
			for _, child := range strings.Fields(string(text)) {
				if n, err := strconv.Atoi(child); err == nil {
					all = append(all, n)
				}
			}
		}
	}
	return all
}
