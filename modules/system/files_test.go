package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/modules"
)

func keepOwner(mode fs.FileMode) modules.Attributes {
	return modules.Attributes{Mode: mode, UID: -1, GID: -1}
}

// other returns ids that a test may give files to: its own unless it is root.
func other() (uid, gid int) {
	if os.Geteuid() == 0 {
		return 1, 2
	}
	return os.Geteuid(), os.Getegid()
}

func newFiles() modules.Files { return New().Files }

func names(t *testing.T, dir string) []string {
	t.Helper()
	list, err := newFiles().List(dir)
	require.NoError(t, err)
	return list
}

func TestStat(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(path("f"), []byte("four"), 0o600))
	require.NoError(t, os.Chmod(path("f"), 0o640|fs.ModeSetuid))
	require.NoError(t, os.Mkdir(path("d"), 0o700))
	require.NoError(t, os.Symlink("../x", path("l")))
	require.NoError(t, syscall.Mkfifo(path("p"), 0o600))
	f := newFiles()
	own := modules.FileInfo{UID: os.Geteuid(), GID: os.Getegid()}

	info, err := f.Stat(path("f"))
	require.NoError(t, err)
	own.Kind, own.Mode, own.Size, own.Links = modules.Regular, 0o640|fs.ModeSetuid, 4, 1
	require.Equal(t, own, info)
	for name, kind := range map[string]modules.FileKind{"d": modules.Directory, "l": modules.Symlink, "p": modules.Special} {
		info, err := f.Stat(path(name))
		require.NoError(t, err)
		require.Equal(t, kind, info.Kind)
		require.Zero(t, info.Size)
		require.Zero(t, info.Links)
	}
	info, err = f.Stat(path("l"))
	require.NoError(t, err)
	require.Equal(t, "../x", info.Target)
	_, err = f.Stat(path("none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = f.Stat(path("f/x"))
	require.ErrorIs(t, err, syscall.ENOTDIR)
	_, err = f.Stat("etc/motd")
	require.EqualError(t, err, `path "etc/motd" is not absolute and clean`)
	_, err = f.Stat("/etc/../motd")
	require.EqualError(t, err, `path "/etc/../motd" is not absolute and clean`)
}

func TestReadingWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "p")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	f := newFiles()
	_, err := f.Open(fifo) // must not wait for a writer
	require.EqualError(t, err, "open "+fifo+": not a regular file")
	_, err = f.Digest(dir)
	require.EqualError(t, err, "open "+dir+": not a regular file")
}

func TestDigest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	later := func() time.Time { return time.Now().Add(time.Hour) }
	d := digests{now: later}
	write := func(text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	digest := func() string {
		sum, err := d.of(path)
		require.NoError(t, err)
		return sum
	}
	write("one")
	one := modules.TextContent("one").SHA256()
	require.Equal(t, one, digest())
	require.Len(t, d.known, 1)
	require.Equal(t, one, digest())

	// The kept digest is returned as long as the file is the same.
	d.known[path] = digestOf(d.known[path].of, "remembered")
	require.Equal(t, "remembered", digest())
	write("two, and longer")
	require.Equal(t, modules.TextContent("two, and longer").SHA256(), digest())
}

func digestOf(v version, hex string) digest { return digest{v, hex} }

func TestDigestOfAFreshFileIsNotKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	d := digests{now: time.Now}
	_, err := d.of(path)
	require.NoError(t, err)
	require.Empty(t, d.known)
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	f := newFiles()
	uid, gid := other()
	require.NoError(t, f.Write(t.Context(), path, strings.NewReader("one"), modules.Attributes{Mode: 0o640, UID: uid, GID: gid}))
	info, err := f.Stat(path)
	require.NoError(t, err)
	require.Equal(t, modules.FileInfo{Kind: modules.Regular, Size: 3, Mode: 0o640, UID: uid, GID: gid, Links: 1}, info)

	t.Run("keeps what is not given", func(t *testing.T) {
		keep := modules.Attributes{UID: -1, GID: -1, KeepMode: true}
		require.NoError(t, f.Write(t.Context(), path, strings.NewReader("two!"), keep))
		info, err := f.Stat(path)
		require.NoError(t, err)
		require.Equal(t, modules.FileInfo{Kind: modules.Regular, Size: 4, Mode: 0o640, UID: uid, GID: gid, Links: 1}, info)
		fresh := filepath.Join(dir, "fresh")
		require.NoError(t, f.Write(t.Context(), fresh, strings.NewReader(""), keep))
		info, err = f.Stat(fresh)
		require.NoError(t, err)
		require.Equal(t, modules.FileInfo{Kind: modules.Regular, Mode: 0o600, UID: os.Geteuid(), GID: os.Getegid(), Links: 1}, info)
	})
	t.Run("replaces a link", func(t *testing.T) {
		link := filepath.Join(dir, "link")
		require.NoError(t, os.Symlink(path, link))
		require.NoError(t, f.Write(t.Context(), link, strings.NewReader("new"), keepOwner(0o600)))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "two!", string(text))
		info, err := f.Stat(link)
		require.NoError(t, err)
		require.Equal(t, modules.Regular, info.Kind)
	})
	t.Run("a name as long as names can be", func(t *testing.T) {
		long := filepath.Join(dir, strings.Repeat("n", 255))
		require.NoError(t, f.Write(t.Context(), long, strings.NewReader("x"), keepOwner(0o600)))
		require.NoError(t, os.Remove(long))
	})
	require.Equal(t, []string{"f", "fresh", "link"}, names(t, dir))
}

// failing is a content that breaks off.
type failing struct{ err error }

func (f failing) Read(p []byte) (int, error) { return copy(p, "half"), f.err }

func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	f := newFiles()
	for _, test := range []struct {
		name string
		ctx  context.Context
		path string
		from failing
		want string
		is   error
	}{
		{"the content breaks off", t.Context(), path, failing{errors.New("connection lost")}, "write " + path + ": connection lost", nil},
		{"the disk is full", t.Context(), path, failing{syscall.ENOSPC}, "write " + path + ": no space left on device after 4 bytes", syscall.ENOSPC},
		{"cancelled", cancelled, path, failing{nil}, "write " + path + ": context canceled", context.Canceled},
		{"a directory", t.Context(), filepath.Join(dir, "d"), failing{nil}, "write " + filepath.Join(dir, "d") + ": is a directory", syscall.EISDIR},
		{"no parent", t.Context(), filepath.Join(dir, "no/f"), failing{nil}, "open " + filepath.Join(dir, "no") + ": no such file or directory", fs.ErrNotExist},
		{"the root directory", t.Context(), "/", failing{nil}, "change /: the root directory is never replaced or removed", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := f.Write(test.ctx, test.path, test.from, keepOwner(0o644))
			require.EqualError(t, err, test.want)
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "old", string(text))
			require.Equal(t, []string{"d", "f"}, names(t, dir))
		})
	}
}

// TestWriteIsPrivateUntilItIsDone looks at the temporary file while the content
// is on its way.
func TestWriteIsPrivateUntilItIsDone(t *testing.T) {
	dir := t.TempDir()
	f := newFiles()
	watch := readerFunc(func() {
		list := names(t, dir)
		require.Len(t, list, 1)
		require.Regexp(t, `^\.f\.ccm-[0-9a-f]{16}$`, list[0])
		info, err := f.Stat(filepath.Join(dir, list[0]))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode)
	})
	require.NoError(t, f.Write(t.Context(), filepath.Join(dir, "f"), watch, keepOwner(0o644)))
	require.Equal(t, []string{"f"}, names(t, dir))
}

// readerFunc is an empty content that calls a function when it is read.
type readerFunc func()

func (f readerFunc) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

func TestMakeDir(t *testing.T) {
	dir := t.TempDir()
	f := newFiles()
	uid, gid := other()
	path := filepath.Join(dir, "a/b/c")
	require.NoError(t, f.MakeDir(t.Context(), path, modules.Attributes{Mode: 0o750, UID: uid, GID: gid}))
	for _, name := range []string{"a", "a/b", "a/b/c"} {
		info, err := f.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, modules.FileInfo{Kind: modules.Directory, Mode: 0o750, UID: uid, GID: gid}, info, name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o600))
	require.NoError(t, os.Symlink("nothing", filepath.Join(dir, "l")))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, f.MakeDir(t.Context(), path, keepOwner(0o700)), fs.ErrExist)
	require.ErrorIs(t, f.MakeDir(t.Context(), filepath.Join(dir, "f/x"), keepOwner(0o700)), syscall.ENOTDIR)
	require.ErrorIs(t, f.MakeDir(t.Context(), filepath.Join(dir, "l"), keepOwner(0o700)), fs.ErrExist)
	require.Error(t, f.MakeDir(t.Context(), filepath.Join(dir, "l/x"), keepOwner(0o700)))
	require.ErrorIs(t, f.MakeDir(cancelled, filepath.Join(dir, "new"), keepOwner(0o700)), context.Canceled)
	require.NoError(t, f.MakeDir(t.Context(), filepath.Join(dir, "k"), modules.Attributes{UID: -1, GID: -1, KeepMode: true}))
	info, err := f.Stat(filepath.Join(dir, "k"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o755), info.Mode)
	require.Equal(t, []string{"a", "f", "k", "l"}, names(t, dir))
}

// TestMakeDirTogether runs programs that create directories next to each other. Each program first removes leftovers of
// others.
func TestMakeDirTogether(t *testing.T) {
	dir := t.TempDir()
	const programs, each = 8, 50
	var all errgroup.Group
	for p := range programs {
		all.Go(func() error {
			for i := range each {
				path := filepath.Join(dir, fmt.Sprintf("%d-%d/below", p, i))
				if err := newFiles().MakeDir(t.Context(), path, keepOwner(0o755)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	require.Len(t, names(t, dir), programs*each)
}

func TestSetAttributes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o755|fs.ModeSetuid))
	f := newFiles()
	uid, gid := other()
	mode := func(path string) fs.FileMode {
		info, err := f.Stat(path)
		require.NoError(t, err)
		return info.Mode
	}

	require.NoError(t, f.SetAttributes(t.Context(), path, modules.Attributes{UID: uid, GID: gid, KeepMode: true}))
	require.Equal(t, 0o755|fs.ModeSetuid, mode(path))
	require.NoError(t, f.SetAttributes(t.Context(), path, keepOwner(0o000)))
	info, err := f.Stat(path)
	require.NoError(t, err)
	require.Equal(t, modules.FileInfo{Kind: modules.Regular, UID: uid, GID: gid, Links: 1}, info)
	require.NoError(t, f.SetAttributes(t.Context(), path, keepOwner(0o644)), "of a file that may not be opened")
	require.Equal(t, fs.FileMode(0o644), mode(path))

	tmp := filepath.Join(dir, "tmp")
	require.NoError(t, os.Mkdir(tmp, 0o700))
	require.NoError(t, os.Chmod(tmp, 0o777|fs.ModeSticky))
	require.NoError(t, f.SetAttributes(t.Context(), tmp, keepOwner(0o755)))
	require.Equal(t, 0o755|fs.ModeSticky, mode(tmp))

	link := filepath.Join(dir, "l")
	require.NoError(t, os.Symlink("f", link))
	err = f.SetAttributes(t.Context(), link, keepOwner(0o777))
	require.EqualError(t, err, "set attributes of "+link+": too many levels of symbolic links")
	require.Equal(t, fs.FileMode(0o644), mode(path))
	require.ErrorIs(t, f.SetAttributes(t.Context(), filepath.Join(dir, "none"), keepOwner(0o644)), fs.ErrNotExist)
}

func TestSetAttributesOfSomebodyElse(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may give files away")
	}
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o644))
	f := newFiles()
	require.ErrorIs(t, f.SetAttributes(t.Context(), path, modules.Attributes{Mode: 0o600, UID: 0, GID: -1}), fs.ErrPermission)
	info, err := f.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o644), info.Mode, "nothing is done by halves")
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.MkdirAll(path("d/sub"), 0o700))
	require.NoError(t, os.WriteFile(path("keep"), nil, 0o600))
	require.NoError(t, os.Symlink(path("keep"), path("d/sub/l")))
	require.NoError(t, os.Symlink("d", path("l")))
	require.NoError(t, os.Mkdir(path("empty"), 0o700))
	f := newFiles()

	require.ErrorIs(t, f.Remove(t.Context(), path("d"), false), syscall.ENOTEMPTY)
	require.NoError(t, f.Remove(t.Context(), path("l"), true))
	require.Equal(t, []string{"l"}, names(t, path("d/sub")))
	require.NoError(t, f.Remove(t.Context(), path("d"), true))
	require.NoError(t, f.Remove(t.Context(), path("empty"), false))
	require.Equal(t, []string{"keep"}, names(t, dir))
	require.ErrorIs(t, f.Remove(t.Context(), path("none"), false), fs.ErrNotExist)
	require.EqualError(t, f.Remove(t.Context(), "/", true), "change /: the root directory is never replaced or removed")
}
