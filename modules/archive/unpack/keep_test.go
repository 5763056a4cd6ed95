package unpack_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/archive/format"
)

// TestKept checks that all files except the marker exist at the sync, so that a power failure leaves no marker without
// the rest.
func TestKept(t *testing.T) {
	for _, fails := range []error{nil, errors.New("the disk is gone")} {
		dir := t.TempDir()
		a := archive(format.Tar, tarOf(t, item{name: "marker", body: "x"}, item{name: "d/f", body: "x"}, item{name: "g", body: "x"}))
		_, _, err := a.Inspect(t.Context())
		require.NoError(t, err)
		into, err := os.OpenRoot(dir)
		require.NoError(t, err)
		defer into.Close()
		synced := 0
		_, err = a.Extract(t.Context(), into, "marker", func(*os.Root) error {
			synced++
			require.FileExists(t, filepath.Join(dir, "d/f"))
			require.FileExists(t, filepath.Join(dir, "g"))
			require.NoFileExists(t, filepath.Join(dir, "marker"))
			return fails
		})
		require.ErrorIs(t, err, fails)
		require.Equal(t, 1, synced, "one file system")
		if fails != nil {
			require.Equal(t, map[string]string{"d": "drwxr-xr-x", "d/f": "-rw-r--r-- x", "g": "-rw-r--r-- x"}, tree(t, dir))
			continue
		}
		require.FileExists(t, filepath.Join(dir, "marker"))
	}
}

// TestPlantedBelow puts a user's link in the place of a directory to unpack into.
func TestPlantedBelow(t *testing.T) {
	needs.Root(t, "only root gives files to others")
	dir := t.TempDir()
	for _, name := range []string{"home", "etc"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	require.NoError(t, os.Symlink("../etc", filepath.Join(dir, "home/conf")))
	require.NoError(t, os.Lchown(filepath.Join(dir, "home/conf"), 65534, 65534))
	b := tarOf(t, item{name: "home/conf/f", body: "x"})
	require.NoError(t, extractTo(t.Context(), archive(format.Tar, b), dir, ""), "in root's own directory")
	require.NoError(t, os.Remove(filepath.Join(dir, "etc/f")))
	require.NoError(t, os.Chown(filepath.Join(dir, "home"), 65534, 65534))
	err := extractTo(t.Context(), archive(format.Tar, b), dir, "")
	require.ErrorIs(t, err, modules.ErrPlanted)
	require.EqualError(t, err, `putting "home/conf/f" in place: "`+dir+`/home/conf" is a link of user 65534 to "../etc", in a directory where `+
		`others than root may write (owner 65534, mode 0755): its target belongs to user 0; `+
		`write the path that it leads to, or put a directory in the place of the link`)
	require.NoFileExists(t, filepath.Join(dir, "etc/f"))
}
