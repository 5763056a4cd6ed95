package listen

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

var unixEpoch = time.Unix(0, 0)

func newListener(t testing.TB) *Listener {
	t.Helper()
	l, err := New(func(line string) { t.Log(line) })
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// heard returns all hints so far, merged.
func heard(t testing.TB, l *Listener) Hint {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, l.Drain(ctx))
	select {
	case h := <-l.Hints():
		return h
	default:
		return Hint{}
	}
}

// watches returns the number of the listener's watches in the kernel.
func watches(t testing.TB, l *Listener) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", l.inotify))
	require.NoError(t, err)
	return bytes.Count(text, []byte("inotify wd:"))
}

// TestEdits checks that each way to change a path is hinted, at its source and no other.
func TestEdits(t *testing.T) {
	edits := [][]string{
		{"write", "a/b/file", "1"}, {"append", "a/b/file", "2"}, {"truncate", "a/b/file"}, {"replace", "a/b/file", "3"},
		{"chmod600", "a/b/file"}, {"touch", "a/b/file"}, {"remove", "a/b/file"}, {"write", "a/b/file", "4"},
		{"chmod755", "a/b"}, {"rename", "a/b", "a/c"}, {"rename", "a/c", "a/b"}, {"exchange", "a/b", "a/other"},
		{"removeall", "a"}, {"mkdir", "a/b"}, {"write", "a/b/file", "5"}, {"exchange", "a", "z"},
		{"link anew", "a/b/file", "../../elsewhere/file"}, {"write", "elsewhere/file", "6"}, {"replace", "elsewhere/file", "7"},
		{"symlink", "a/b/file", "file"}, {"symlink", "a/b/file", "ROOT/elsewhere/no/file"}, {"mkdir", "elsewhere/no/file"},
		{"chmod600", "elsewhere/no/file"}, {"removeall", "elsewhere"}, {"removeall", "a"}, {"symlink", "a", "z"}, {"write", "z/b/file", "8"},
	}
	root := t.TempDir()
	for _, d := range []string{"a/b", "a/other", "z/b", "elsewhere"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	l := newListener(t)
	polled, err := l.Listen(t.Context(), []modules.Sources{
		{Paths: []string{root + "/unconcerned/file", root + "/a/b/file.new"}}, {Paths: []string{root + "/a/b/file"}}, {Trees: []string{root + "/a"}},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"", "", ""}, polled)
	require.Equal(t, []int{0, 1, 2}, heard(t, l).Sources, "all are new")
	require.Empty(t, heard(t, l).Sources)
	do := startEditor(t)
	for i, e := range edits {
		e = slices.Clone(e)
		for i, word := range e {
			if i == 1 || i == 2 && (e[0] == "rename" || e[0] == "exchange") {
				e[i] = filepath.Join(root, word)
			}
			e[i] = strings.Replace(e[i], "ROOT", root, 1)
		}
		require.Empty(t, do(e), "%d: %q", i, e)
		require.Contains(t, heard(t, l).Sources, 1, "%d: %q", i, e)
	}
	require.NoError(t, os.WriteFile(root+"/other", nil, 0o600))
	require.Empty(t, heard(t, l).Sources, "nobody asked for that name")
}

// TestAnyEdits makes random edits in another process, several at once and between calls of Listen, with mounts: every
// difference afterwards must have been hinted.
func TestAnyEdits(t *testing.T) {
	if os.Getenv("LISTEN_NAMESPACE") == "" {
		inNamespace(t)
		return
	}
	all := t.TempDir()
	require.NoError(t, unix.Mount("tmpfs", all, "tmpfs", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(all, unix.MNT_DETACH)) }) // including mounts below
	root := all + "/root"
	require.NoError(t, os.Mkdir(root, 0o755))
	names := []string{"a", "b", "c"}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	anyPath := func() string {
		p := root
		for range 1 + r.IntN(3) {
			p += "/" + names[r.IntN(len(names))]
		}
		return p
	}
	ops := []string{
		"write", "write", "write", "append", "truncate", "replace", "replace", "chmod600", "chmod755", "touch", "remove", "removeall",
		"mkdir", "mkdir", "mkdir", "rename", "exchange", "exchange", "symlink", "link anew", "bind", "tmpfs", "umount", "umount",
	}
	anyEdit := func() []string {
		e := []string{ops[r.IntN(len(ops))], anyPath(), ""}
		switch e[0] {
		case "write", "append", "replace":
			e[2] = fmt.Sprint(r.IntN(1000))
		case "rename", "exchange", "bind":
			e[2] = anyPath()
		case "symlink", "link anew":
			e[2] = []string{anyPath(), names[r.IntN(3)], "../" + names[r.IntN(3)], "."}[r.IntN(4)]
		}
		return e
	}
	do := startEditor(t)
	l := newListener(t)
	var sources []modules.Sources
	again := func() {
		sources = nil
		for range 6 {
			sources = append(sources, modules.Sources{Paths: []string{anyPath(), anyPath()}})
		}
		sources = append(sources, modules.Sources{Trees: []string{anyPath()}})
		_, err := l.Listen(t.Context(), sources)
		require.NoError(t, err)
	}
	states := func() (all []string) {
		for _, s := range sources {
			var b strings.Builder
			for _, p := range s.Paths {
				b.WriteString(state(p, false))
			}
			for _, p := range s.Trees {
				b.WriteString(state(p, true))
			}
			all = append(all, b.String())
		}
		return all
	}
	again()
	heard(t, l)
	was := states()
	told, otherwise := 0, 0
	var log [][]string
	for range 4000 {
		var edits [][]string
		for range 1 + r.IntN(4) {
			edits = append(edits, anyEdit())
		}
		log = append(log, edits...)
		do(edits...)
		h := heard(t, l)
		is := states()
		for i := range sources {
			if slices.Contains(h.Sources, i) {
				told++
			}
			if was[i] != is[i] {
				otherwise++
				require.Contains(t, h.Sources, i, "%v of %v was\n%s\nis\n%s\nafter %q", sources[i], root, was[i], is[i], log[max(0, len(log)-30):])
			}
		}
		was = is
		if r.IntN(50) == 0 {
			again()
			heard(t, l)
			was = states()
		}
	}
	t.Logf("%d hints for %d changes", told, otherwise)
	require.NotZero(t, otherwise)
	_, err := l.Listen(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, watches(t, l))
	require.Empty(t, l.dirs)
	require.Empty(t, l.wds)
}

// inNamespace runs the test again, in its own mount namespace.
func inNamespace(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "LISTEN_NAMESPACE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	} else {
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS // has its mounts private
		cmd.SysProcAttr.Cloneflags = 0
	}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatalf("no mounts of its own: %v", err)
		}
		t.Skipf("no mounts of its own: %v", err)
	}
	require.NoError(t, err, string(out))
	t.Log(string(out))
}

// TestListenLeaksNothing calls it a thousand times.
func TestListenLeaksNothing(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		require.NoError(t, os.MkdirAll(fmt.Sprintf("%s/%d/deep/er", root, i), 0o755))
	}
	require.NoError(t, os.Symlink("1/deep", root+"/link"))
	l := newListener(t)
	sources := func(n int) (all []modules.Sources) {
		for i := range 20 {
			all = append(all, modules.Sources{
				Paths: []string{fmt.Sprintf("%s/%d/deep/er/file%d", root, i, n), root + "/link/er/x"}, Trees: []string{fmt.Sprintf("%s/%d", root, (i+n)%20)},
			})
		}
		return all
	}
	_, err := l.Listen(t.Context(), sources(0))
	require.NoError(t, err)
	first := watches(t, l)
	require.NotZero(t, first)
	for i := range 1000 {
		_, err := l.Listen(t.Context(), sources(i))
		require.NoError(t, err)
	}
	require.Equal(t, first, watches(t, l))
	require.Len(t, l.targets, 41)
	_, err = l.Listen(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, watches(t, l))
	require.Empty(t, l.dirs)
	require.Empty(t, l.targets)
}

// TestAHintIsKept over a Listen, with the indexes that its sources have then.
func TestAHintIsKept(t *testing.T) {
	root := t.TempDir()
	a, b := modules.Sources{Paths: []string{root + "/a"}}, modules.Sources{Paths: []string{root + "/b"}}
	l := newListener(t)
	_, err := l.Listen(t.Context(), []modules.Sources{a, b})
	require.NoError(t, err)
	heard(t, l)
	require.NoError(t, os.WriteFile(root+"/b", nil, 0o600))
	require.NoError(t, l.Drain(t.Context()))
	_, err = l.Listen(t.Context(), []modules.Sources{b, a, {}, b})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 3}, heard(t, l).Sources)
}

// TestOverflow checks that everything is hinted after the kernel has dropped events.
func TestOverflow(t *testing.T) {
	root := t.TempDir()
	l := newListener(t)
	_, err := l.Listen(t.Context(), []modules.Sources{{Paths: []string{root + "/a"}}})
	require.NoError(t, err)
	heard(t, l)
	l.mu.Lock() // the reader has to wait
	for range 20000 {
		for _, name := range []string{"/x", "/y"} {
			require.NoError(t, os.WriteFile(root+name, nil, 0o600))
		}
	}
	require.NoError(t, os.Rename(root+"/x", root+"/a"))
	l.mu.Unlock()
	require.Contains(t, heard(t, l).All, "max_queued_events")
	require.NoError(t, os.WriteFile(root+"/a", nil, 0o600))
	require.Equal(t, Hint{Sources: []int{0}}, heard(t, l))
}

// TestNobodyTakesHints checks that the reader continues if hints are not received.
func TestNobodyTakesHints(t *testing.T) {
	root := t.TempDir()
	l := newListener(t)
	_, err := l.Listen(t.Context(), []modules.Sources{{Paths: []string{root + "/a"}}, {Paths: []string{root + "/b"}}})
	require.NoError(t, err)
	for range 100 {
		require.NoError(t, os.WriteFile(root+"/b", nil, 0o600))
		require.NoError(t, l.Drain(t.Context()))
	}
	require.Equal(t, Hint{Sources: []int{0, 1}}, <-l.Hints())
	require.Empty(t, heard(t, l).Sources)
}

// TestAsleep checks that everything is hinted after the host has slept.
func TestAsleep(t *testing.T) {
	l := newListener(t)
	awake := slept()
	require.GreaterOrEqual(t, awake, time.Duration(0))
	l.mu.Lock()
	l.slept = func() time.Duration { return awake + time.Hour }
	l.mu.Unlock()
	l.rouse()
	require.Equal(t, Hint{All: "the host was asleep"}, <-l.Hints())
	require.Equal(t, Hint{}, heard(t, l))
}

// TestMounts of which one is made.
func TestMounts(t *testing.T) {
	if os.Getenv("LISTEN_NAMESPACE") == "" {
		inNamespace(t)
		return
	}
	root := t.TempDir()
	l := newListener(t)
	polled, err := l.Listen(t.Context(), []modules.Sources{{Mounts: true}, {Paths: []string{root + "/a"}}, {Paths: []string{"/etc/passwd"}}})
	require.NoError(t, err)
	require.Equal(t, []string{"", "", ""}, polled)
	heard(t, l)
	require.NoError(t, unix.Mount("tmpfs", root, "tmpfs", 0, ""))
	require.Equal(t, []int{0, 1}, heard(t, l).Sources, "another directory is there")
	require.NoError(t, os.WriteFile(root+"/a", nil, 0o600))
	require.Equal(t, []int{1}, heard(t, l).Sources)
	require.NoError(t, unix.Unmount(root, unix.MNT_DETACH))
	require.Equal(t, []int{0, 1}, heard(t, l).Sources)
}

// TestMountedFiles that are removed where they are from, and in whose place another one is mounted.
func TestMountedFiles(t *testing.T) {
	if os.Getenv("LISTEN_NAMESPACE") == "" {
		inNamespace(t)
		return
	}
	from, at := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(at+"/file", nil, 0o600))
	bind := func(name string) {
		require.NoError(t, os.WriteFile(from+name, nil, 0o600))
		require.NoError(t, unix.Mount(from+name, at+"/file", "", unix.MS_BIND, ""))
	}
	bind("/one")
	l := newListener(t)
	_, err := l.Listen(t.Context(), []modules.Sources{{Paths: []string{at + "/file"}}, {Trees: []string{at}}})
	require.NoError(t, err)
	heard(t, l)
	write := func() {
		t.Helper()
		require.NoError(t, edit([]string{"append", at + "/file", "more"}))
		require.Equal(t, []int{0, 1}, heard(t, l).Sources)
	}
	write()
	require.NoError(t, os.Remove(from+"/one"))
	heard(t, l)
	write()
	l.mu.Lock() // the reader sees both at once
	require.NoError(t, unix.Unmount(at+"/file", unix.MNT_DETACH))
	bind("/two")
	l.mu.Unlock()
	require.Equal(t, []int{0, 1}, heard(t, l).Sources)
	write()
	require.NoError(t, unix.Unmount(at+"/file", unix.MNT_DETACH))
}

// TestWriters names the process that wrote, where the kernel does.
func TestWriters(t *testing.T) {
	l := newListener(t)
	if l.fanotify < 0 {
		t.Skip("this is not root, or an old kernel")
	}
	root := t.TempDir()
	_, err := l.Listen(t.Context(), []modules.Sources{{Paths: []string{root + "/a"}}, {Paths: []string{root + "/b"}}})
	require.NoError(t, err)
	if len(l.handles) == 0 {
		t.Skip("this file system has no names for directories")
	}
	heard(t, l)
	cmd := exec.Command("/bin/sh", "-c", "echo >"+root+"/other; read wait; echo >"+root+"/b.new; mv "+root+"/b.new "+root+"/b; echo >>"+root+"/b; echo; read wait")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = in.Write([]byte("\n"))
	require.NoError(t, err)
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	h := heard(t, l)
	require.NoError(t, in.Close())
	cmd.Wait() // read has reached the end of its input
	program, err := filepath.EvalSymlinks("/bin/sh")
	require.NoError(t, err)
	require.Equal(t, []int{1}, h.Sources)
	require.Equal(t, map[int]Writer{1: {PID: cmd.Process.Pid, Program: program, User: "root"}}, h.Writers)

	require.NoError(t, os.WriteFile(root+"/a", nil, 0o600))
	require.Equal(t, Hint{Sources: []int{0}}, heard(t, l), "this process knows itself")
	for range 3 * maxStray { // each one is exchanged for another
		require.NoError(t, os.RemoveAll(root))
		require.NoError(t, os.Mkdir(root, 0o755))
		heard(t, l)
	}
	require.Len(t, l.handles, 1)
	_, err = l.Listen(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, l.handles)
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", l.fanotify))
	require.NoError(t, err)
	require.LessOrEqual(t, bytes.Count(text, []byte("fanotify ino:")), maxStray)
}

// TestPackageOf runs dpkg, or rpm.
func TestPackageOf(t *testing.T) {
	program := needs.Program(t, "dpkg-query")
	require.Equal(t, "dpkg", PackageOf(t.Context(), program))
	require.Equal(t, "", PackageOf(t.Context(), os.Args[0]))
	require.Equal(t, "", PackageOf(t.Context(), "/usr/bin/dpkg*"))
}

// TestPolled checks the reasons for polling.
func TestPolled(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(root+"/closed/in", 0o755))
	require.NoError(t, os.Chmod(root+"/closed", 0o300))
	l := newListener(t)
	sources := []modules.Sources{
		{}, {Polled: "the newest version", Paths: []string{root}}, {Paths: []string{"/proc/sys/kernel/hostname"}}, {Paths: []string{root + "/closed/in/file"}},
	}
	polled, err := l.Listen(t.Context(), sources)
	require.NoError(t, err)
	require.Equal(t, []string{"it causes no events", "the newest version", "the kernel sends no events for /proc"}, polled[:3])
	if os.Getuid() != 0 {
		require.Equal(t, "no right to read "+root+"/closed", polled[3])
		require.NoError(t, os.Chmod(root+"/closed", 0o700))
		require.Contains(t, heard(t, l).Sources, 3)
		polled, err = l.Listen(t.Context(), sources)
		require.NoError(t, err)
		require.Equal(t, "", polled[3])
	}
	for err, want := range map[error]string{
		unix.ENOSPC: "out of inotify watches, of which fs.inotify.max_user_watches allows ", unix.ENOENT: "", unix.EIO: "inotify /a: input/output error",
	} {
		require.Regexp(t, "^"+want+`\d*$`, watchError("/a", err))
	}
	require.Regexp(t, `^out of inotify instances, of which fs.inotify.max_user_instances allows \d+$`, instanceError(unix.EMFILE))
}

// TestLargeTree checks that a large tree is polled.
func TestLargeTree(t *testing.T) {
	root := t.TempDir()
	for i := range maxTree {
		require.NoError(t, os.Mkdir(fmt.Sprintf("%s/%d", root, i), 0o755))
	}
	l := newListener(t)
	polled, err := l.Listen(t.Context(), []modules.Sources{{Trees: []string{root}}})
	require.NoError(t, err)
	require.Equal(t, []string{"there are more than 4096 directories below " + root}, polled)
}

// TestClosed listeners say so.
func TestClosed(t *testing.T) {
	l, err := New(func(string) {})
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	_, err = l.Listen(t.Context(), nil)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, l.Drain(t.Context()), ErrClosed)
	_, open := <-l.Hints()
	require.False(t, open)
}

// FuzzWrites passes arbitrary bytes as data from the kernel.
func FuzzWrites(f *testing.F) {
	one := binary.NativeEndian.AppendUint32(nil, 24+28)
	one = append(one, make([]byte, 16)...)
	one = binary.NativeEndian.AppendUint32(one, 7)
	one = append(one, unix.FAN_EVENT_INFO_TYPE_DFID_NAME, 0)
	one = binary.NativeEndian.AppendUint16(one, 28)
	one = append(one, "fsidfsid"...)
	one = binary.NativeEndian.AppendUint32(one, 4)
	one = append(one, "typehandname"...)
	require.Equal(f, []write{{pid: 7, handle: "fsidfsidtypehand", name: "name"}}, slices.Collect(writes(one)))
	f.Add(one)
	f.Add(append(slices.Clone(one), one[:30]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		for w := range writes(b) {
			require.LessOrEqual(t, len(w.handle)+len(w.name), len(b))
		}
	})
}

// FuzzEvents checks that an event of the kernel is read back, whatever follows it.
func FuzzEvents(f *testing.F) {
	f.Add(int32(1), uint32(unix.IN_CREATE), "name", []byte("\x00\x01"))
	f.Add(int32(-1), uint32(unix.IN_Q_OVERFLOW), "", bytes.Repeat([]byte{255}, 40))
	f.Fuzz(func(t *testing.T, wd int32, mask uint32, name string, rest []byte) {
		name, _, _ = strings.Cut(name, "\x00")
		padded := append([]byte(name), 0, 0, 0)
		var b []byte
		b = binary.NativeEndian.AppendUint32(b, uint32(wd))
		b = binary.NativeEndian.AppendUint32(b, mask)
		b = binary.NativeEndian.AppendUint32(b, 0)
		b = binary.NativeEndian.AppendUint32(b, uint32(len(padded)))
		b = append(append(b, padded...), rest...)
		var all []event
		for e := range events(b) {
			all = append(all, e)
		}
		require.Equal(t, event{wd: int(wd), mask: mask, name: name}, all[0])
		require.LessOrEqual(t, len(all), 1+len(rest)/unix.SizeofInotifyEvent)
	})
}
