package mount

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
)

// points returns the mount points below a directory.
func points(t *testing.T, below string) []string {
	t.Helper()
	text, err := os.ReadFile(mountinfo.File)
	require.NoError(t, err)
	var all []string
	for one := range mountinfo.Parse(string(text)) {
		if strings.HasPrefix(one.Point, below+"/") || strings.Contains(one.Point, "ccm-push-mount") {
			all = append(all, strings.TrimPrefix(one.Point, below)+" "+one.Type)
		}
	}
	return all
}

// apply checks and applies a resource.
func apply(t *testing.T, h modules.Host, m *Mount) error {
	t.Helper()
	require.NoError(t, m.Validate())
	plan, err := m.Check(t.Context(), modules.ReadOnly(h))
	if err != nil || !plan.Pending() {
		return err
	}
	return m.Apply(t.Context(), h, plan)
}

// TestRealMounts mounts, binds, remounts and unmounts for real.
func TestRealMounts(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	dir := t.TempDir()
	modtest.Build(t, dir, []modtest.Node{{Path: "fstab"}, {Path: "source", Dir: true}, {Path: "source/file", Text: "x"}, {Path: "at", Dir: true}, {Path: "onto", Text: "below"}})
	h, fstab := modtest.Host(), dir+"/fstab"
	lines := func() string { text, _ := os.ReadFile(fstab); return strings.ReplaceAll(string(text), dir, "") }
	converge := func(m *Mount) {
		t.Helper()
		m.Fstab = fstab
		require.NoError(t, apply(t, h, m))
		plan, err := m.Check(t.Context(), modules.ReadOnly(h))
		require.NoError(t, err)
		require.False(t, plan.Pending(), "%+v", plan.Changes)
	}
	converge(&Mount{Name: dir + "/new", Ensure: mounted, Device: "tmpfs", Fstype: "tmpfs", Options: []string{"size=1m", "nosuid"}})
	converge(&Mount{Name: dir + "/at", Ensure: mounted, Device: dir + "/source", Fstype: "none", Options: []string{"bind", "ro"}})
	converge(&Mount{Name: dir + "/onto", Ensure: mounted, Device: dir + "/source/file", Fstype: "none", Options: []string{"bind"}})
	require.Len(t, points(t, dir), 3)
	require.Contains(t, points(t, dir), "/new tmpfs")
	require.Error(t, os.WriteFile(dir+"/at/more", nil, 0o600), "it is read-only")
	require.NoError(t, os.WriteFile(dir+"/source/more", nil, 0o600), "but its source is not")
	text, err := os.ReadFile(dir + "/onto")
	require.NoError(t, err)
	require.Equal(t, "x", string(text))

	converge(&Mount{Name: dir + "/new", Ensure: mounted, Device: "tmpfs", Fstype: "tmpfs", Options: []string{"size=2m", "noexec", "ro"}})
	require.ErrorIs(t, os.WriteFile(dir+"/new/x", nil, 0o600), syscall.EROFS)
	var is syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir+"/new", &is))
	require.Equal(t, int64(2<<20), int64(is.Blocks)*is.Bsize)

	in, err := os.Open(dir + "/at/file")
	require.NoError(t, err)
	require.ErrorContains(t, apply(t, h, &Mount{Name: dir + "/at", Ensure: absent, Fstab: fstab}), "cannot be unmounted, because programs use it")
	require.Contains(t, lines(), " /at none bind,ro", "what stays mounted keeps its line")
	require.NoError(t, in.Close())
	for _, name := range []string{"/new", "/at", "/onto"} {
		converge(&Mount{Name: dir + name, Ensure: absent})
	}
	require.Empty(t, points(t, dir))
	require.Empty(t, lines())
	left, err := filepath.Glob("/run/ccm-push-mount-*")
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestUndoOfOptions changes the options of a mount; undo restores them.
func TestUndoOfOptions(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	for name, options := range map[string][]string{
		"size and nosuid": {"size=8m", "nosuid"}, "noexec": {"size=4m", "noexec"}, "ro": {"size=4m", "ro", "nodev", "noatime"}, "size": {"size=8m"}, "atime": {"size=6m", "noatime"},
	} {
		for _, first := range [][]string{{"size=4m"}, {"rw"}, {"nosuid", "nodev", "noatime"}} {
			dir := t.TempDir()
			h, fstab := modtest.Host(), dir+"/fstab"
			was := &Mount{Name: dir + "/m", Ensure: mounted, Device: "tmpfs", Fstype: "tmpfs", Options: first, Fstab: fstab}
			require.NoError(t, apply(t, h, was))
			before, err := was.now(h)
			require.NoError(t, err)
			m := &Mount{Name: dir + "/m", Ensure: mounted, Device: "tmpfs", Fstype: "tmpfs", Options: options, Fstab: fstab}
			modtest.Undone(t, dir, m)
			after, err := was.now(h)
			require.NoError(t, err)
			slices.Sort(before.options)
			slices.Sort(after.options)
			normal := func(all []string) []string { // the kernel shows a default that was given
				return slices.DeleteFunc(slices.Compact(all), func(o string) bool { return first[0] != "size=4m" && strings.HasPrefix(o, "size=") })
			}
			require.Equal(t, normal(before.options), normal(after.options), "%s after %v", name, first)
			require.NoError(t, h.Mounts.Unmount(t.Context(), dir+"/m"))
		}
	}
}

// TestRefusedMounts refuses the mount after each step: fstab keeps no new line, and nothing is mounted.
func TestRefusedMounts(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	dir := t.TempDir()
	const before = "# ours\n"
	modtest.Build(t, dir, []modtest.Node{{Path: "fstab", Text: before}, {Path: "there", Dir: true}})
	for name, m := range map[string]*Mount{
		"no such type":   {Device: "tmpfs", Fstype: "nosuchfs"},
		"no such device": {Device: "/dev/nosuchdevice", Fstype: "ext4"},
		"no such source": {Device: dir + "/nosuch", Fstype: "none", Options: []string{"bind"}},
		"a bad option":   {Device: "tmpfs", Fstype: "tmpfs", Options: []string{"size=x"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, at := range []string{"/there", "/new"} {
				m.Name, m.Ensure, m.Fstab = dir+at, mounted, dir+"/fstab"
				require.Error(t, apply(t, modtest.Host(), m))
				text, err := os.ReadFile(m.Fstab)
				require.NoError(t, err)
				require.Equal(t, before, string(text))
				require.Empty(t, points(t, dir))
				require.NoDirExists(t, dir+"/new")
			}
		})
	}
	t.Run("fstab cannot be written", func(t *testing.T) {
		h := modtest.Host()
		h.Files.FileWriter = full{h.Files.FileWriter}
		err := apply(t, h, &Mount{Name: dir + "/new", Ensure: mounted, Fstab: dir + "/fstab", Device: "tmpfs", Fstype: "tmpfs"})
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.Empty(t, points(t, dir))
		require.NoDirExists(t, dir+"/new")
	})
}

// full is a disk without room.
type full struct{ modules.FileWriter }

func (full) Write(context.Context, string, io.Reader, modules.Attributes) error {
	return syscall.ENOSPC
}

func (full) WriteIf(context.Context, string, io.Reader, modules.Attributes, func(string) error) error {
	return syscall.ENOSPC
}

// TestPlantedMounts plants links on the way to a mount point, before the check and between check and
// apply, and exchanges a directory all the time.
func TestPlantedMounts(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	const bob = 1234
	top := t.TempDir()
	require.NoError(t, os.Chmod(top, 0o755))
	victim := top + "/victim"
	require.NoError(t, os.MkdirAll(victim+"/data", 0o755))
	home := top + "/home"
	require.NoError(t, os.Mkdir(home, 0o755))
	require.NoError(t, os.Chown(home, bob, bob))
	plant := func(target, at string) {
		t.Helper()
		require.NoError(t, errors.Join(os.RemoveAll(at), os.Symlink(target, at), os.Lchown(at, bob, bob)))
	}
	fstab := top + "/fstab"
	m := func(name string, ensure string) *Mount {
		if ensure == unmounted {
			return &Mount{Name: name, Ensure: ensure, Fstab: fstab}
		}
		return &Mount{Name: name, Ensure: ensure, Fstab: fstab, Device: "tmpfs", Fstype: "tmpfs"}
	}
	nothing := func(t *testing.T) {
		t.Helper()
		require.Empty(t, points(t, victim))
		require.NoFileExists(t, fstab)
	}

	t.Run("before the check", func(t *testing.T) {
		plant(victim, home+"/link")
		for _, name := range []string{"/link", "/link/data"} {
			require.ErrorContains(t, apply(t, modtest.Host(), m(home+name, mounted)), "symbolic link "+home+"/link and leads to "+victim)
			nothing(t)
			require.ErrorContains(t, apply(t, modtest.Host(), m(home+name, unmounted)), "symbolic link "+home+"/link and leads to "+victim)
		}
	})
	t.Run("the device", func(t *testing.T) {
		modtest.Build(t, top, []modtest.Node{{Path: "image", Text: "x"}})
		plant(top+"/image", home+"/image")
		one := m(top+"/new", mounted)
		one.Device, one.Fstype = home+"/image", "ext4"
		require.ErrorIs(t, apply(t, modtest.Host(), one), modules.ErrPlanted)
		one.Device, one.Options = home+"/link", []string{"bind"}
		require.ErrorIs(t, apply(t, modtest.Host(), one), modules.ErrPlanted)
		nothing(t)
	})
	for _, name := range []string{"/data", "/dir/data"} {
		for _, ensure := range []string{mounted, unmounted, "remounted", "bind"} {
			t.Run("after the check: "+ensure+name, func(t *testing.T) {
				require.NoError(t, errors.Join(os.RemoveAll(home+"/data"), os.RemoveAll(home+"/dir"), os.MkdirAll(home+name, 0o755)))
				t.Cleanup(func() { _ = syscall.Unmount(victim, 0); _ = syscall.Unmount(victim+"/data", 0) })
				link, target, does := home+"/data", victim, mountIt
				if name == "/dir/data" {
					link = home + "/dir"
				}
				one := m(home+name, mounted)
				switch ensure {
				case unmounted:
					does = unmountIt
				case "remounted":
					does = remountIt
				case "bind":
					one = m(home+name, mounted)
					one.Device, one.Options = top, []string{"bind"}
				}
				before := []string(nil)
				if does != mountIt { // something is mounted at the target of the link
					at := victim
					if name == "/dir/data" {
						at = victim + "/data"
					}
					require.NoError(t, syscall.Mount("tmpfs", at, "tmpfs", 0, ""))
					before = points(t, top)
				}
				plant(target, link)
				h := modtest.Host()
				err := one.Apply(t.Context(), h, modules.Plan{Steps: steps{do: does, options: map[deed]string{mountIt: "bind", remountIt: "remount,ro"}[does]}})
				require.Error(t, err)
				if does != unmountIt { // the kernel itself does not follow the last link
					require.ErrorIs(t, err, modules.ErrPlanted)
				}
				require.Equal(t, before, points(t, top))
			})
		}
	}
	t.Run("exchanged all the time", func(t *testing.T) {
		require.NoError(t, errors.Join(os.RemoveAll(home), os.MkdirAll(home+"/dir/data", 0o755), os.Symlink(victim, home+"/other")))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				_ = os.Rename(home+"/dir", home+"/kept")
				_ = os.Rename(home+"/other", home+"/dir")
				_ = os.Rename(home+"/dir", home+"/other")
				_ = os.Rename(home+"/kept", home+"/dir")
			}
		}()
		h, did, refused := modtest.Host(), 0, 0
		for ctx.Err() == nil {
			one := m(home+"/dir/data", mounted)
			err := one.Apply(t.Context(), h, modules.Plan{Steps: steps{do: mountIt, options: "defaults"}})
			require.Empty(t, points(t, victim))
			if err == nil {
				did++
			} else {
				refused++
			}
			for unmounts := 0; unmounts < 100 && len(points(t, top)) > 0; unmounts++ {
				_ = one.Apply(t.Context(), h, modules.Plan{Steps: steps{do: unmountIt}})
			}
		}
		<-ended
		for _, at := range []string{"/dir/data", "/kept/data", "/other/data"} {
			for syscall.Unmount(home+at, 0) == nil { // one above the other
			}
		}
		t.Logf("mounted %d times, refused %d times", did, refused)
		require.Positive(t, did)
		require.Positive(t, refused)
	})
}
