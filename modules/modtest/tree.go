package modtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Node is something that a test puts at a path below its root: a directory if
// Dir, a symbolic link if Link is given, another name of a file if Same is, else
// a file with Text.
type Node struct {
	Path string // relative to the root
	Dir  bool
	Link string      // target; $ROOT stands for the root
	Same string      // relative to the root
	Text string      // likewise
	Mode fs.FileMode // 0 is 0644, or 0755 for directories
}

// Build makes the nodes below root, in order. Modes are set last, so that a directory without write permission can have
// content.
func Build(t testing.TB, root string, nodes []Node) {
	t.Helper()
	for _, n := range nodes {
		path := filepath.Join(root, n.Path)
		switch {
		case n.Link != "":
			require.NoError(t, os.Symlink(expand(n.Link, root), path))
		case n.Same != "":
			require.NoError(t, os.Link(filepath.Join(root, n.Same), path))
		case n.Dir:
			require.NoError(t, os.Mkdir(path, 0o700))
		default:
			require.NoError(t, os.WriteFile(path, []byte(expand(n.Text, root)), 0o600))
		}
	}
	for _, n := range slices.Backward(nodes) {
		if n.Link == "" && n.Same == "" {
			require.NoError(t, os.Chmod(filepath.Join(root, n.Path), n.mode()))
		}
	}
}

func (n Node) mode() fs.FileMode {
	switch {
	case n.Mode != 0:
		return n.Mode
	case n.Dir:
		return 0o755
	}
	return 0o644
}

// Root makes an empty directory for a test and removes it in the end, whatever modes the test has set below it.
func Root(t testing.TB) string {
	root := t.TempDir()
	t.Cleanup(func() {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && err == nil {
				return os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return root
}

// Seen is everything about a path that a user could notice, but the times that
// looking changes.
type Seen struct {
	Mode     fs.FileMode // with its type
	UID, GID int
	Text     string // content of a file, or the target of a link, with $ROOT in place of the root
	ModTime  int64  // Unix time in ns; 0 in a [State]
}

// Snapshot describes every path below root, by path relative to it.
func Snapshot(t testing.TB, root string) map[string]Seen {
	t.Helper()
	seen := map[string]Seen{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) { // a directory that has been seen, and may not be listed
			return nil
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s, err := see(path)
		s.Text = strings.ReplaceAll(s.Text, root, "$ROOT")
		seen[relative] = s
		return err
	}))
	return seen
}

// State is a [Snapshot] without times: the same state may come about twice.
func State(t testing.TB, root string) map[string]Seen {
	t.Helper()
	state := Snapshot(t, root)
	for path, s := range state {
		s.ModTime = 0
		state[path] = s
	}
	return state
}

func see(path string) (Seen, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrPermission) {
		return Seen{Text: "unreachable"}, nil
	}
	if err != nil {
		return Seen{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	s := Seen{Mode: info.Mode(), UID: int(st.Uid), GID: int(st.Gid), ModTime: info.ModTime().UnixNano()}
	var text []byte
	switch info.Mode().Type() {
	case 0:
		text, err = os.ReadFile(path)
		s.Text = string(text)
		if errors.Is(err, fs.ErrPermission) { // a test may take it from itself
			s.Text, err = "unreadable", nil
		}
	case fs.ModeSymlink:
		s.Text, err = os.Readlink(path)
	}
	return s, err
}
