package system_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/rooted"
	"github.com/ccm-push/ccm-push/modules/system"
)

func TestStage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	killed := filepath.Join(dir, rooted.TempName("other.conf"))
	require.NoError(t, os.WriteFile(killed, []byte("secret"), 0o600))
	stage, want := system.Stage(dir), modules.Attributes{Mode: 0o640, UID: -1, GID: -1}
	stop := errors.New("stop")
	for _, result := range []error{nil, stop} {
		err := stage(t.Context(), "/etc/app/app.conf", strings.NewReader("text"), want, func(temp string) error {
			require.NoFileExists(t, killed, "the leftover of a killed process is gone")
			text, err := os.ReadFile(temp)
			require.NoError(t, err)
			require.Equal(t, "text", string(text))
			info, err := os.Stat(temp)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o640), info.Mode())
			require.Equal(t, dir, filepath.Dir(temp))
			require.Regexp(t, `^\.app\.conf\.`, filepath.Base(temp), "as the temporary file of the applying run")
			return result
		})
		require.Equal(t, result, err)
		names, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, names)
	}
	change := func(temp string) error { return os.WriteFile(temp, []byte("longer"), 0o600) }
	require.EqualError(t, stage(t.Context(), "/f", strings.NewReader("text"), want, func(temp string) error {
		return errors.Join(os.Remove(temp), change(temp))
	}), `the file changed while the command of "validate" was running`)

	require.NoError(t, os.Chmod(dir, 0o755))
	err := stage(t.Context(), "/f", strings.NewReader("text"), want, func(string) error { panic("it has a file") })
	require.EqualError(t, err, "other users may enter the directory "+dir)
}
