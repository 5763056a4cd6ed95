package mount

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestRefresh remounts file systems that are mounted.
func TestRefresh(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	h, dir := modtest.Host(), t.TempDir()
	require.NoError(t, os.Mkdir(dir+"/m", 0o755))
	event := &Mount{Name: dir + "/m", Ensure: mounted, Options: []string{"ro", "nofail"}, Event: modules.Event{RefreshOnly: true}}
	require.NoError(t, event.Validate())
	refresh := func(m *Mount) modules.Plan {
		t.Helper()
		plan, err := modules.Compare(t.Context(), m, modules.ReadOnly(h))
		require.NoError(t, err)
		plan, err = m.Refresh(t.Context(), modules.ReadOnly(h), plan)
		require.NoError(t, err)
		if plan.Pending() {
			require.NoError(t, m.Apply(t.Context(), h, plan))
		}
		return plan
	}
	require.False(t, refresh(event).Pending(), "not mounted")
	modtest.Tmpfs(t, dir+"/m")
	require.NoError(t, os.WriteFile(dir+"/m/a", nil, 0o600))
	plan := refresh(event)
	require.Equal(t, "remounted it via subscribe", plan.Action)
	require.True(t, plan.Refreshed)
	require.Empty(t, plan.Changes)
	require.ErrorContains(t, os.WriteFile(dir+"/m/b", nil, 0o600), "read-only file system")
	require.FileExists(t, dir+"/m/a", "it is the same file system")

	require.NoError(t, os.WriteFile(dir+"/fstab", []byte("tmpfs "+dir+"/m tmpfs rw 0 0\n"), 0o644))
	whole := &Mount{Name: dir + "/m", Ensure: mounted, Device: "tmpfs", Fstype: "tmpfs", Options: []string{"rw"}, Fstab: dir + "/fstab"}
	require.Equal(t, "remounted it", refresh(whole).Action, "its options differ anyway")
	require.Equal(t, "remounted it via subscribe", refresh(whole).Action)
	require.NoError(t, os.WriteFile(dir+"/m/b", nil, 0o600))
}
