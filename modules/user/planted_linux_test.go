package user

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts/accountstest"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestPlantedHome plants a link on the way to a new home, before the check and after it: neither a
// home nor an account is made.
func TestPlantedHome(t *testing.T) { accountstest.Private(t, plantedHome) }

func plantedHome(t *testing.T) {
	put(t, "/home/victim", "", 0o755, 0)
	for _, busybox := range []bool{false, true} {
		if busybox {
			accountstest.Busybox(t)
		}
		for _, properties := range []string{
			`{"name":"eve","home":"/home/bob/h/eve"}`, `{"name":"eve","home":"/home/bob/h/eve","create_home":true}`,
		} {
			require.NoError(t, os.RemoveAll("/home/bob/h"))
			put(t, "/home/bob/h", "-> /home/victim", 0, 1500)
			_, err := apply(t, properties)
			require.ErrorContains(t, err, `"/home/bob/h" is a link of user 1500 to "/home/victim"`)

			require.NoError(t, os.RemoveAll("/home/bob/h"))
			put(t, "/home/bob/h", "", 0o755, 1500)
			res := modtest.Decode(t, modules.Registry{Type()}, "user", properties, "")
			plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
			require.NoError(t, err)
			require.NoError(t, os.RemoveAll("/home/bob/h"))
			put(t, "/home/bob/h", "-> /home/victim", 0, 1500)
			err = res.Apply(t.Context(), modtest.Host(), plan)
			require.ErrorIs(t, err, modules.ErrPlanted)
			require.ErrorContains(t, err, "the user was not created either")
			require.NoDirExists(t, "/home/victim/eve")
			passwd, err := os.ReadFile("/etc/passwd")
			require.NoError(t, err)
			require.NotContains(t, string(passwd), "eve:")
		}
	}
}

// TestNewHome compares a new home with its skeleton.
func TestNewHome(t *testing.T) { accountstest.Private(t, theNewHome) }

func theNewHome(t *testing.T) {
	put(t, "/etc/skel/dir", "", os.ModeSetgid|0o750, 0)
	put(t, "/etc/skel/dir/file", "text", 0o640, 0)
	put(t, "/etc/skel/out", "-> /etc/motd", 0, 0)
	put(t, "/etc/skel/in", "-> /etc/skel/dir/file", 0, 0)
	_, err := apply(t, `{"name":"eve","uid":1777}`)
	require.NoError(t, err)
	h := modtest.Host()
	for name, want := range map[string]modules.FileInfo{
		"":          {Kind: modules.Directory, Mode: 0o750},
		"/dir":      {Kind: modules.Directory, Mode: os.ModeSetgid | 0o750},
		"/dir/file": {Kind: modules.Regular, Mode: 0o640, Size: 4, Links: 1},
		"/out":      {Kind: modules.Symlink, Target: "/etc/motd"},
		"/in":       {Kind: modules.Symlink, Target: "/home/eve/dir/file"},
	} {
		is, err := h.Files.Stat("/home/eve" + name)
		require.NoError(t, err)
		require.Equal(t, 1777, is.UID, name)
		require.NotZero(t, is.GID, name)
		is.UID, is.GID = 0, 0
		if is.Kind == modules.Symlink {
			is.Mode = 0
		}
		require.Equal(t, want, is, name)
	}
}
