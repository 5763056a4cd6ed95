package system_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/system"
)

// TestSetgidOfAnotherGroup changes the mode of directories and files with a group that their owner does not belong to,
// as in a setgid directory: the kernel drops their setgid bit without an error.
func TestSetgidOfAnotherGroup(t *testing.T) {
	const nobody, team, mark = 65534, 12345, "CCM_PUSH_TEST_TEAM"
	if os.Geteuid() == 0 {
		dir, err := os.MkdirTemp("", "team")
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		require.NoError(t, os.Chmod(dir, 0o777))
		for _, name := range []string{"set", "plain"} {
			at := filepath.Join(dir, name)
			require.NoError(t, os.Mkdir(at, 0o775))
			require.NoError(t, os.Chown(at, nobody, team))
		}
		require.NoError(t, os.Chmod(filepath.Join(dir, "set"), 0o775|fs.ModeSetgid))
		t.Setenv(mark, dir)
	}
	modtest.AsOrdinaryUser(t, func(t *testing.T) {
		dir := os.Getenv(mark)
		if dir == "" {
			t.Skip("NOT TESTED: only root can give a directory to another group")
		}
		files := system.New().Files
		for _, test := range []struct {
			name string
			a    modules.Attributes
			want fs.FileMode // after the change
			err  bool
		}{
			{"plain", modules.Attributes{Mode: 0o750, UID: -1, GID: -1}, 0o750, false},
			{"plain", modules.Attributes{Mode: 0o750 | fs.ModeSetgid, UID: -1, GID: -1, Exact: true}, 0o750 | fs.ModeSetgid, true},
			{"set", modules.Attributes{Mode: 0o750, UID: -1, GID: -1}, 0o750 | fs.ModeSetgid, true},
		} {
			at := filepath.Join(dir, test.name)
			err := files.MaySetAttributes(at, test.a)
			require.Equal(t, test.err, err != nil, "%+v: %v", test, err)
			require.NoError(t, files.SetAttributes(t.Context(), at, test.a))
			info, statErr := os.Stat(at)
			require.NoError(t, statErr)
			require.Equal(t, !test.err, info.Mode()&(fs.ModePerm|fs.ModeSetgid) == test.want, "%+v: %v", test, info.Mode())
			if err != nil {
				require.EqualError(t, err, `user 65534 is not in group 12345 of "`+at+`", so the kernel removes the setgid bit whenever the mode changes; use "become"`)
			}
		}
	})
}
