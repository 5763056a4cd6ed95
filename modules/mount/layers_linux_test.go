package mount

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestLayers unmounts several mounts at one path in one run.
func TestLayers(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	h := modtest.Host()
	for _, ensure := range []string{unmounted, absent} {
		for layers := 1; layers <= 3; layers++ {
			dir := t.TempDir()
			require.NoError(t, os.Mkdir(dir+"/m", 0o755))
			for range layers {
				require.NoError(t, os.WriteFile(dir+"/m/content", nil, 0o600))
				modtest.Tmpfs(t, dir+"/m")
			}
			require.NoError(t, os.WriteFile(dir+"/fstab", []byte("tmpfs "+dir+"/m tmpfs defaults 0 0\n"), 0o644))
			m := &Mount{Name: dir + "/m", Ensure: ensure, Fstab: dir + "/fstab"}
			require.NoError(t, apply(t, h, m))
			require.Empty(t, points(t, dir))
			plan, err := m.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.False(t, plan.Pending())
			require.FileExists(t, dir+"/m/content", "what is below stays")
		}
	}
}

// TestMountedBelow refuses to unmount a file system with mounts in it, as the kernel does. Mounts that the upper one
// hides do not matter.
func TestMountedBelow(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	h, dir := modtest.Host(), t.TempDir()
	m := &Mount{Name: dir + "/m", Ensure: unmounted}
	require.NoError(t, os.Mkdir(dir+"/m", 0o755))
	modtest.Tmpfs(t, dir+"/m")
	require.NoError(t, os.Mkdir(dir+"/m/in", 0o755))
	modtest.Tmpfs(t, dir+"/m/in")
	require.EqualError(t, apply(t, h, m), dir+"/m has file systems mounted in it: "+dir+"/m/in; unmount them first")
	require.Len(t, points(t, dir), 2)
	require.NoError(t, apply(t, h, &Mount{Name: dir + "/m/in", Ensure: unmounted}))
	require.NoError(t, apply(t, h, m))
	require.Empty(t, points(t, dir))

	require.NoError(t, os.Mkdir(dir+"/m/hidden", 0o755))
	modtest.Tmpfs(t, dir+"/m/hidden")
	modtest.Tmpfs(t, dir+"/m")
	require.NoError(t, apply(t, h, m))
	require.Len(t, points(t, dir), 1)
}

// TestThroughALink uses a link on the path: nothing is mounted or unmounted through it, and a line of fstab is not
// removed while its file system is mounted.
func TestThroughALink(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	h, dir := modtest.Host(), t.TempDir()
	modtest.Build(t, dir, []modtest.Node{{Path: "run", Dir: true}, {Path: "run/m", Dir: true}, {Path: "var", Dir: true}, {Path: "var/run", Link: "../run"}, {Path: "lnk", Link: "run/m"}})
	for name, link := range map[string]string{"/var/run/m": "/var/run", "/lnk": "/lnk"} {
		line := "tmpfs " + dir + name + " tmpfs defaults 0 0\n"
		require.NoError(t, os.WriteFile(dir+"/fstab", []byte(line), 0o644))
		m := func(ensure string) *Mount {
			return &Mount{Name: dir + name, Ensure: ensure, Device: "tmpfs", Fstype: "tmpfs", Fstab: dir + "/fstab"}
		}
		through := "the path " + dir + name + " contains the symbolic link " + dir + link + " and leads to " + dir + "/run/m; ccm-push does not mount or unmount through a link: write the path without links"
		require.EqualError(t, apply(t, h, m(mounted)), through)
		require.Empty(t, points(t, dir))
		modtest.Tmpfs(t, dir+"/run/m")
		for _, ensure := range []string{mounted, unmounted, absent} {
			require.EqualError(t, apply(t, h, m(ensure)), through, ensure)
			require.Len(t, points(t, dir), 1)
		}
		text, err := os.ReadFile(dir + "/fstab")
		require.NoError(t, err)
		require.Equal(t, line, string(text))
		is, err := m(present).Describe(t.Context(), h)
		require.NoError(t, err)
		require.Equal(t, mounted, is.Ensure)
		require.NoError(t, apply(t, h, &Mount{Name: dir + "/run/m", Ensure: unmounted}))
		require.NoError(t, apply(t, h, m(absent)), "nothing is mounted there")
		text, err = os.ReadFile(dir + "/fstab")
		require.NoError(t, err)
		require.Empty(t, string(text))
	}
}

// TestBoundFromElsewhere compares the files of a bind mount with its source, whatever paths lead there.
func TestBoundFromElsewhere(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	h, dir := modtest.Host(), t.TempDir()
	modtest.Build(t, dir, []modtest.Node{
		{Path: "fstab"}, {Path: "a", Dir: true}, {Path: "a/in", Dir: true}, {Path: "b", Dir: true}, {Path: "m", Dir: true}, {Path: "n", Dir: true}, {Path: "l", Link: "a"},
		{Path: "f", Text: "x"}, {Path: "g", Text: "x"},
	})
	bind := func(from, at string) *Mount {
		return &Mount{Name: dir + at, Ensure: mounted, Device: dir + from, Fstype: "none", Options: []string{"bind"}, Fstab: dir + "/fstab"}
	}
	stable := func(m *Mount) {
		t.Helper()
		require.NoError(t, apply(t, h, m))
		plan, err := m.Check(t.Context(), modules.ReadOnly(h))
		require.NoError(t, err)
		require.False(t, plan.Pending())
	}
	stable(bind("/a", "/m"))
	stable(bind("/l", "/m"))
	stable(bind("/m/in", "/n"))
	stable(bind("/a/in", "/n"))
	stable(bind("/f", "/g"))
	for _, m := range []*Mount{bind("/b", "/m"), bind("/a", "/n")} {
		require.ErrorContains(t, apply(t, h, m), " is mounted at "+m.Name+", not "+m.Device+"; first unmount it (ensure: unmounted)")
	}
	modtest.Tmpfs(t, dir+"/b")
	require.ErrorContains(t, apply(t, h, bind("/b", "/m")), "unmount it")
	for _, at := range []string{"/m", "/n", "/g"} {
		require.NoError(t, h.Mounts.Unmount(t.Context(), dir+at))
	}
}

// TestFstabIsAMountPoint refuses before anything is mounted.
func TestFstabIsAMountPoint(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	h, dir := modtest.Host(), t.TempDir()
	modtest.Build(t, dir, []modtest.Node{{Path: "fstab"}, {Path: "m", Dir: true}})
	modtest.Bind(t, dir+"/fstab", dir+"/fstab")
	err := apply(t, h, &Mount{Name: dir + "/m", Ensure: mounted, Device: "tmpfs", Fstype: "tmpfs", Fstab: dir + "/fstab"})
	require.EqualError(t, err, dir+"/fstab is a mount point; unmount it first")
	require.Len(t, points(t, dir), 1, "that of fstab")
}
