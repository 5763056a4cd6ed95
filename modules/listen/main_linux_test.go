package listen

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// TestMain also runs the editor process.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	if os.Getenv("LISTEN_EDITOR") != "" {
		editor()
		return
	}
	goleak.VerifyTestMain(m)
}

// editor makes the edits that it reads from standard input, and answers each line with one.
func editor() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var edits [][]string
		if err := json.Unmarshal(in.Bytes(), &edits); err != nil {
			fmt.Println(err)
			continue
		}
		var failed []string
		for _, e := range edits {
			if err := edit(e); err != nil {
				failed = append(failed, err.Error())
			}
		}
		fmt.Println(strings.ReplaceAll(strings.Join(failed, "; "), "\n", " "))
	}
}

func edit(e []string) error {
	p := e[1]
	switch e[0] {
	case "write":
		return os.WriteFile(p, []byte(e[2]), 0o644)
	case "append":
		f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(e[2])
		return err
	case "truncate":
		return os.Truncate(p, 0)
	case "replace":
		if err := os.WriteFile(p+".new", []byte(e[2]), 0o644); err != nil {
			return err
		}
		return os.Rename(p+".new", p)
	case "chmod600":
		return os.Chmod(p, 0o600)
	case "chmod755":
		return os.Chmod(p, 0o755)
	case "touch":
		return os.Chtimes(p, unixEpoch, unixEpoch)
	case "remove":
		return os.Remove(p)
	case "removeall":
		return os.RemoveAll(p)
	case "mkdir":
		return os.MkdirAll(p, 0o755)
	case "rename":
		return os.Rename(p, e[2])
	case "exchange":
		return unix.Renameat2(unix.AT_FDCWD, p, unix.AT_FDCWD, e[2], unix.RENAME_EXCHANGE)
	case "symlink":
		if err := os.Symlink(e[2], p+".new"); err != nil {
			return err
		}
		return os.Rename(p+".new", p)
	case "link anew":
		os.Remove(p)
		return os.Symlink(e[2], p)
	case "bind":
		return unix.Mount(p, e[2], "", unix.MS_BIND, "")
	case "tmpfs":
		return unix.Mount("tmpfs", p, "tmpfs", 0, "")
	case "umount":
		return unix.Unmount(p, unix.MNT_DETACH)
	}
	return fmt.Errorf("unknown edit %q", e)
}

// startEditor returns a function that makes edits in another process.
func startEditor(t *testing.T) func(edits ...[]string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LISTEN_EDITOR=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		require.NoError(t, cmd.Wait())
	})
	answers := bufio.NewReader(out)
	return func(edits ...[]string) string {
		t.Helper()
		line, err := json.Marshal(edits)
		require.NoError(t, err)
		_, err = in.Write(append(line, '\n'))
		require.NoError(t, err)
		answer, err := answers.ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSpace(answer)
	}
}

// state returns everything that a resource could read of a path, and of a tree below it, in which no link is followed.
func state(p string, tree bool) string {
	var b strings.Builder
	one := func(p string, stats ...func(string, *unix.Stat_t) error) {
		for _, stat := range stats {
			var s unix.Stat_t
			if err := stat(p, &s); err != nil {
				fmt.Fprint(&b, err, " ")
				continue
			}
			fmt.Fprint(&b, s.Dev, s.Ino, s.Mode, s.Uid, " ")
			switch s.Mode & unix.S_IFMT {
			case unix.S_IFREG:
				content, _ := os.ReadFile(p)
				fmt.Fprintf(&b, "%d %q ", s.Mtim, content)
			case unix.S_IFLNK:
				dest, _ := os.Readlink(p)
				fmt.Fprintf(&b, "%q ", dest)
			}
		}
		fmt.Fprintln(&b)
	}
	one(p, unix.Lstat, unix.Stat)
	if tree {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			return b.String()
		}
		filepath.WalkDir(real, func(p string, _ os.DirEntry, err error) error {
			if err != nil {
				return nil // again: a directory removed at the source of its mount
			}
			fmt.Fprint(&b, p, " ")
			one(p, unix.Lstat)
			return nil
		})
	}
	return b.String()
}
