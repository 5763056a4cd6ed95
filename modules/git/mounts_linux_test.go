package git

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestRemovalKeepsMounts mounts at a directory that the repository ignores.
func TestRemovalKeepsMounts(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	s := newSource(t)
	at := t.TempDir() + "/co"
	run(t, "/", "clone", "-q", s.dir, at)
	require.NoError(t, os.WriteFile(at+"/.git/info/exclude", []byte("data\n"), 0o644))
	require.NoError(t, os.Mkdir(at+"/data", 0o755))
	h := modtest.Host()
	h.Forecast = modules.NoForecast{}
	g := &Git{Name: at, Ensure: absent}
	plan, err := g.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	for _, mount := range []func(){func() { modtest.Tmpfs(t, at+"/data") }, func() { modtest.Bind(t, s.dir, at+"/data") }} {
		mount()
		before := modtest.Snapshot(t, at)
		for _, force := range []bool{false, true} {
			_, err := (&Git{Name: at, Ensure: absent, Force: force}).Check(t.Context(), modules.ReadOnly(h))
			require.EqualError(t, err, at+" has file systems mounted in it: "+at+"/data; unmount them first")
		}
		require.EqualError(t, g.Apply(t.Context(), h, plan), at+" has file systems mounted in it: "+at+"/data; unmount them first", "mounted since the check")
		require.Equal(t, before, modtest.Snapshot(t, at))
		require.NoError(t, h.Mounts.Unmount(t.Context(), at+"/data"))
	}
	require.NoError(t, g.Apply(t.Context(), h, plan))
	require.NoDirExists(t, at)
}
