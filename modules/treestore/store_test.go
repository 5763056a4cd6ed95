package treestore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/treestore"
)

// A sender has the contents of a tree and counts the requests.
type sender struct {
	listing modules.Content
	files   map[string][]byte
	wanted  int // contents
	sent    int // bytes, except those that were here already
}

func (s *sender) Open(_ context.Context, c modules.Content) (io.ReadCloser, error) {
	if b, here := c.Bytes(); here {
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	b, ok := s.files[c.SHA256()]
	if !ok {
		return nil, errors.New("no such content")
	}
	s.sent += len(b)
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (s *sender) source() treestore.Source {
	return treestore.Source{Contents: s, Want: func(all []modules.Content) error {
		s.wanted += len(all)
		return nil
	}}
}

var large = strings.Repeat("large ", 1000)

// sends makes a sender of a program that prints what.
func sends(t testing.TB, what string) *sender {
	t.Helper()
	s := &sender{files: map[string][]byte{}}
	content := func(text string) modules.Content {
		c := modules.TextContent(text)
		s.files[c.SHA256()] = []byte(text)
		return c.Hashed()
	}
	tree := modules.Tree{Mode: 0o700, Nodes: []modules.TreeNode{
		{Path: "bin", Mode: 0o700},
		{Path: "bin/tool", Mode: 0o500, Content: content("#!/bin/sh\necho " + what + "\n")},
		{Path: "bin/empty", Mode: 0o400, Content: content("")},
		{Path: "data", Mode: 0o400, Content: content(large)},
		{Path: "link", Target: "bin/tool"},
	}}
	for i := range 10 { // so that the listing must be requested
		tree.Nodes = append(tree.Nodes, modules.TreeNode{Path: strings.Repeat(fmt.Sprint(i), 50), Mode: 0o700})
	}
	text, err := json.Marshal(tree)
	require.NoError(t, err)
	s.listing = content(string(text))
	return s
}

func newStore(t testing.TB, dir string) *treestore.Store {
	s := &treestore.Store{Dir: dir}
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// snapshot is the complete state below a directory: names, modes, times and contents.
func snapshot(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, path, info.Mode(), info.ModTime(), info.Size())
		return nil
	}))
	return b.String()
}

func TestPut(t *testing.T) {
	dir, from := t.TempDir(), sends(t, "hello")
	got, err := newStore(t, dir).Put(t.Context(), from.listing, from.source())
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "resources", from.listing.SHA256(), "files"), got)
	require.Equal(t, 1, from.wanted, "the others are in the listing")
	require.Equal(t, len(large)+len(from.files[from.listing.SHA256()]), from.sent)
	for _, program := range []string{"bin/tool", "link"} {
		out, err := exec.Command(filepath.Join(got, program)).Output()
		require.NoError(t, err)
		require.Equal(t, "hello\n", string(out))
	}
	for name, mode := range map[string]fs.FileMode{
		"": fs.ModeDir | 0o700, "bin": fs.ModeDir | 0o700, "bin/tool": 0o500, "bin/empty": 0o400, "data": 0o400, "link": fs.ModeSymlink | 0o777, "..": fs.ModeDir | 0o700, "../..": fs.ModeDir | 0o700,
	} {
		info, err := os.Lstat(filepath.Join(got, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), name)
	}
}

// TestPutTwice requests nothing and writes nothing the second time, in the same process and in the next.
func TestPutTwice(t *testing.T) {
	dir, first := t.TempDir(), sends(t, "hello")
	s := newStore(t, dir)
	want, err := s.Put(t.Context(), first.listing, first.source())
	require.NoError(t, err)
	before := snapshot(t, dir)
	for _, s := range []*treestore.Store{s, newStore(t, dir)} {
		from := sends(t, "hello")
		got, err := s.Put(t.Context(), from.listing, from.source())
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Zero(t, from.wanted)
		require.Zero(t, from.sent)
		require.Equal(t, before, snapshot(t, dir))
	}
}

// TestPutRepairs damages a tree in many ways, and checks that it is written again.
func TestPutRepairs(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "tool"), []byte("#!/bin/sh\necho hello\n"), 0o500))
	change := func(name, text string, mode fs.FileMode) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte(text), 0), os.Chmod(path, mode))
		}
	}
	link := func(name, target string) func(string) error {
		return func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, name)), os.Symlink(target, filepath.Join(dir, name)))
		}
	}
	tests := []struct {
		name   string
		change func(dir string) error
	}{
		{"other bytes", change("bin/tool", "#!/bin/sh\necho jello\n", 0o500)},
		{"cut short", change("data", "", 0o400)},
		{"more rights", func(dir string) error { return os.Chmod(filepath.Join(dir, "bin/tool"), 0o755) }},
		{"setuid", func(dir string) error { return os.Chmod(filepath.Join(dir, "bin/tool"), 0o500|fs.ModeSetuid) }},
		{"a directory for others", func(dir string) error { return os.Chmod(filepath.Join(dir, "bin"), 0o777) }},
		{"the whole for others", func(dir string) error { return os.Chmod(filepath.Dir(dir), 0o755) }},
		{"a file is gone", func(dir string) error { return os.Remove(filepath.Join(dir, "data")) }},
		{"a link to the same bytes", link("bin/tool", filepath.Join(outside, "tool"))},
		{"a directory is a link", link("bin", outside)},
		{"the files are a link", link("../files", outside)},
		{"a link leads elsewhere", link("link", outside)},
		{"a pipe", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "data")), syscall.Mkfifo(filepath.Join(dir, "data"), 0o400))
		}},
		{"the listing", change("../tree.json", `{"mode":448}`, 0o400)},
		{"all is gone", os.RemoveAll},
		{"the tree is a link", func(dir string) error {
			tree := filepath.Dir(dir)
			return errors.Join(os.Rename(tree, tree+"x"), os.Symlink(tree+"x", tree))
		}},
		{"the tree is a file", func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Dir(dir)), os.WriteFile(filepath.Dir(dir), nil, 0o600))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			from := sends(t, "hello")
			s := newStore(t, dir)
			got, err := s.Put(t.Context(), from.listing, from.source())
			require.NoError(t, err)
			require.NoError(t, s.Close())
			require.NoError(t, tt.change(got))
			from = sends(t, "hello")
			got, err = newStore(t, dir).Put(t.Context(), from.listing, from.source())
			require.NoError(t, err)
			require.Equal(t, 1, from.wanted)
			out, err := exec.Command(filepath.Join(got, "bin/tool")).Output()
			require.NoError(t, err)
			require.Equal(t, "hello\n", string(out))
			info, err := os.Lstat(got)
			require.NoError(t, err)
			require.Equal(t, fs.ModeDir|0o700, info.Mode())
			b, err := os.ReadFile(filepath.Join(outside, "tool"))
			require.NoError(t, err)
			require.Equal(t, "#!/bin/sh\necho hello\n", string(b), "nothing is followed")
		})
	}
}

// TestPutRefuses uses places that others could change, and checks that unfinished trees leave nothing.
func TestPutRefuses(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, dir string, from *sender)
		want    string // expected error; DIR is replaced by the directory
	}{
		{"a link", func(t *testing.T, dir string, _ *sender) {
			require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(dir, "resources")))
		}, "DIR/resources is not a directory; to remove it, run ccm-push clean"},
		{"open to others", func(t *testing.T, dir string, _ *sender) {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "resources"), 0o700))
			require.NoError(t, os.Chmod(filepath.Join(dir, "resources"), 0o770))
		}, "DIR/resources has mode 0770, not 0700; ccm-push clean removes it"},
		{"a content that does not come", func(_ *testing.T, _ string, from *sender) {
			delete(from.files, modules.TextContent(large).SHA256())
		}, "putting the folder resources/ of the play on the host: data: no such content"},
		{"other bytes come", func(_ *testing.T, _ string, from *sender) {
			from.files[modules.TextContent(large).SHA256()] = []byte("others")
		}, "putting the folder resources/ of the play on the host: the stored copy differs from its source: data: the copy has been changed since it was made"},
		{"no tree", func(_ *testing.T, _ string, from *sender) {
			from.files[from.listing.SHA256()] = []byte(`{"nodes":[{"path":"../x"}]}`)
		}, `putting the folder resources/ of the play on the host: "../x" is not a clean path below the directory`},
		{"out of it by a link", func(_ *testing.T, _ string, from *sender) {
			from.files[from.listing.SHA256()] = []byte(`{"nodes":[{"path":"l","target":"/etc"},{"path":"l/passwd","content":{"text":"x"}}]}`)
		}, `putting the folder resources/ of the play on the host: "l" links to "/etc", which is outside of the tree`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, from := t.TempDir(), sends(t, "hello")
			tt.prepare(t, dir, from)
			_, err := newStore(t, dir).Put(t.Context(), from.listing, from.source())
			require.EqualError(t, err, strings.ReplaceAll(tt.want, "DIR", dir))
			left, err := filepath.Glob(filepath.Join(dir, "resources", ".*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestPutIsCancelled with the run.
func TestPutIsCancelled(t *testing.T) {
	dir, from := t.TempDir(), sends(t, "hello")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newStore(t, dir).Put(ctx, from.listing, from.source())
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(filepath.Join(dir, "resources"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestPrune checks that the newest trees and those in use are kept.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	using := newStore(t, dir)
	var dirs []string
	for i := range 8 {
		from := sends(t, fmt.Sprint(i))
		s := newStore(t, dir)
		if i == 1 {
			s = using
		}
		got, err := s.Put(t.Context(), from.listing, from.source())
		require.NoError(t, err)
		if s != using {
			require.NoError(t, s.Close())
		}
		old := time.Now().Add(-time.Duration(10-i) * time.Minute)
		require.NoError(t, os.Chtimes(filepath.Dir(got), old, old))
		dirs = append(dirs, got)
	}
	for _, left := range []string{".new-X", ".old-X", ".new-Y"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, "resources", left), 0o700))
	}
	long := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "resources", ".new-X"), long, long))
	require.NoError(t, os.Chtimes(filepath.Join(dir, "resources", ".old-X"), long, long))
	from := sends(t, "last")
	last, err := newStore(t, dir).Put(t.Context(), from.listing, from.source())
	require.NoError(t, err)
	var want []string
	for _, path := range append(dirs[5:], dirs[1], last) {
		want = append(want, filepath.Base(filepath.Dir(path)))
	}
	var got []string
	entries, err := os.ReadDir(filepath.Join(dir, "resources"))
	require.NoError(t, err)
	for _, e := range entries {
		got = append(got, e.Name())
	}
	require.ElementsMatch(t, append(want, ".new-Y"), got)
}

// TestPutAtOnce runs several processes that need the same trees.
func TestPutAtOnce(t *testing.T) {
	dir := t.TempDir()
	var g errgroup.Group
	for i := range 16 {
		from := sends(t, fmt.Sprint(i%4))
		s := newStore(t, dir)
		g.Go(func() error {
			got, err := s.Put(t.Context(), from.listing, from.source())
			if err != nil {
				return err
			}
			out, err := exec.Command(filepath.Join(got, "bin/tool")).Output()
			if err == nil && string(out) != fmt.Sprintf("%d\n", i%4) {
				err = fmt.Errorf("%q", out)
			}
			return err
		})
	}
	require.NoError(t, g.Wait())
}

func BenchmarkPutAgain(b *testing.B) {
	dir, from := b.TempDir(), sends(b, "hello")
	_, err := newStore(b, dir).Put(b.Context(), from.listing, from.source())
	require.NoError(b, err)
	for b.Loop() {
		s := &treestore.Store{Dir: dir}
		_, err := s.Put(b.Context(), from.listing, from.source())
		require.NoError(b, err)
		require.NoError(b, s.Close())
	}
}
