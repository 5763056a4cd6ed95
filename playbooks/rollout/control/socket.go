package control

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// socket is its name in the folder of a run.
const socket = "control"

// longestPath is the maximum length of a socket path that every system supports: sun_path has 104 bytes on macOS and
// 108 on Linux, including the final 0.
const longestPath = 100

// Limits of messages. Only the status contains names of hosts.
const (
	longestCommand = 4 << 10
	longestReply   = 16 << 20
	mostClients    = 16
)

// Timeouts of a conversation. A rollout that checks the health of hosts answers after the checks.
const (
	commandTime = 10 * time.Second
	replyTime   = time.Minute
)

// reachable returns a path of the socket in a folder that is short enough, and a function that removes the temporary
// link for it, which is in a folder of this user.
func reachable(folder string) (path string, done func(), err error) {
	path = filepath.Join(folder, socket)
	if len(path) <= longestPath {
		return path, func() {}, nil
	}
	temporary := os.TempDir()
	if len(temporary) > longestPath/2 {
		temporary = "/tmp"
	}
	dir, err := os.MkdirTemp(temporary, "ccm-push-")
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(dir) } // a remaining link is useless to others
	if folder, err = filepath.Abs(folder); err == nil {
		err = os.Symlink(folder, filepath.Join(dir, "run"))
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return filepath.Join(dir, "run", socket), done, nil
}

// Listens reports whether there is a socket in the folder of a run; its program may have been killed.
func Listens(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, socket))
	return err == nil
}

// private refuses a folder that others can get into: between the moment at which the socket is there
// and that at which it has its mode nothing else keeps them out.
func private(folder string) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", folder)
	case !ok || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user", folder)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s can be opened by others (%s)", folder, info.Mode().Perm())
	}
	return nil
}
