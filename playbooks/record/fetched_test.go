package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file lands below its host, whatever either is called, and nowhere else.
func TestFetchedAt(t *testing.T) {
	for _, test := range []struct{ host, name, want string }{
		{"web1", "/etc/motd", "fetched/web1/etc/motd"},
		{"web1", "/etc/../../../motd", "fetched/web1/motd"},
		{"../../x", "/etc/a b", "fetched/..%2F..%2Fx/etc/a b"},
		{"..", "/a", "fetched/%2E2E/a"},
		{"", "/...", "fetched/%/..."},
		{"fe80::1", "/a%2Fb", "fetched/fe80%3A%3A1/a%252Fb"},
		{"a\x00\n", "/x\x1b[31m", "fetched/a%00%0A/x%1B[31m"},
		{"web1", "/", "fetched/web1/%"},
	} {
		require.Equal(t, test.want, fetchedAt(test.host, test.name, false))
	}
	require.Equal(t, "fetched-sensitive/web1/k", fetchedAt("web1", "/k", true))
}

func FuzzFetchedAt(f *testing.F) {
	f.Add("web1", "/etc/motd")
	f.Add("..", "/../..")
	f.Add("a/..\\", "\x00%")
	f.Fuzz(func(t *testing.T, host, name string) {
		at := fetchedAt(host, name, false)
		require.True(t, filepath.IsLocal(at), at)
		parts := strings.Split(at, "/")
		require.Greater(t, len(parts), 2, at)
		require.Equal(t, "fetched", parts[0])
		require.Equal(t, element(host), parts[1])
	})
}

func TestFetchedFile(t *testing.T) {
	s := Store{Folder: t.TempDir()}
	f := s.Fetched("run")
	_, err := f.Create("web1", "/etc/motd", false)
	require.EqualError(t, err, "this run has no record that could store the file")
	require.NoError(t, os.Mkdir(s.FolderOf("run"), 0o700))
	put := func(text string, keep bool) {
		file, err := f.Create("web1", "/etc/motd", false)
		require.NoError(t, err)
		_, err = file.Write([]byte(text))
		require.NoError(t, err)
		if keep {
			require.NoError(t, file.Keep())
		} else {
			file.Drop()
		}
	}
	place := f.Place("web1", "/etc/motd", false)
	put("a part", false)
	require.NoFileExists(t, place)
	put("first", true)
	put("second", true)
	put("a part", false)
	text, err := os.ReadFile(place)
	require.NoError(t, err)
	require.Equal(t, "second", string(text))
	info, err := os.Stat(place)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	left, err := os.ReadDir(filepath.Dir(place))
	require.NoError(t, err)
	require.Len(t, left, 1)

	// A planted link is not followed.
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(s.FolderOf("run"), "fetched", "web2")))
	_, err = f.Create("web2", "/etc/motd", false)
	require.ErrorContains(t, err, "path escapes from parent")
}
