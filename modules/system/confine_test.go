package system

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// TestWithin checks that a writer within a directory supports all operations.
func TestWithin(t *testing.T) {
	root := t.TempDir()
	real := filepath.Join(root, "real")
	require.NoError(t, os.MkdirAll(filepath.Join(real, "sub"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(root, "top")))
	top := filepath.Join(root, "top") // the directory itself may be behind a link
	w := New().Files.Within(top)
	own := modules.Attributes{Mode: 0o640, UID: -1, GID: -1}

	require.NoError(t, w.Write(t.Context(), top+"/f", strings.NewReader("x"), own))
	require.NoError(t, w.Write(t.Context(), top+"/sub/f", strings.NewReader("y"), own))
	require.NoError(t, w.MakeDir(t.Context(), top+"/a/b", modules.Attributes{Mode: 0o750, UID: -1, GID: -1}))
	require.NoError(t, w.Symlink(t.Context(), top+"/a/l", "../f"))
	require.NoError(t, w.SetAttributes(t.Context(), top+"/sub/f", modules.Attributes{Mode: 0o600, UID: -1, GID: -1}))
	require.NoError(t, w.SetAttributes(t.Context(), top+"/a", modules.Attributes{Mode: 0o700, UID: os.Geteuid(), GID: -1}))
	text, err := os.ReadFile(filepath.Join(real, "a/l"))
	require.NoError(t, err)
	require.Equal(t, "x", string(text))
	for name, mode := range map[string]fs.FileMode{"f": 0o640, "sub/f": 0o600, "a": fs.ModeDir | 0o700, "a/b": fs.ModeDir | 0o750} {
		info, err := os.Stat(filepath.Join(real, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), name)
	}
	require.NoError(t, w.Remove(t.Context(), top+"/sub/f", false))
	require.NoError(t, w.Remove(t.Context(), top+"/a", true))
	require.NoFileExists(t, filepath.Join(real, "sub/f"))
	require.NoDirExists(t, filepath.Join(real, "a"))
}

func TestWithinRefuses(t *testing.T) {
	root := t.TempDir()
	top, out := filepath.Join(root, "top"), filepath.Join(root, "out")
	require.NoError(t, os.MkdirAll(filepath.Join(top, "d"), 0o755))
	require.NoError(t, os.Mkdir(out, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(out, "f"), nil, 0o600))
	require.NoError(t, os.Symlink(out, filepath.Join(top, "away")))
	require.NoError(t, os.Symlink("../../out", filepath.Join(top, "d/up")))
	require.NoError(t, os.Symlink(out+"/f", filepath.Join(top, "link")))
	w := New().Files.Within(top)
	for name, want := range map[string]string{
		out + "/f":         "change " + out + "/f: the path is not below the directory that is managed",
		top:                "change " + top + ": the path is not below the directory that is managed",
		top + "x/f":        "change " + top + "x/f: the path is not below the directory that is managed",
		top + "/away/f":    "open the directory of " + top + "/away/f: path escapes from parent",
		top + "/d/up/f":    "open the directory of " + top + "/d/up/f: path escapes from parent",
		top + "/../out/f":  `path "` + top + `/../out/f" is not absolute and clean`,
		top + "/nothing/f": "open the directory of " + top + "/nothing/f: no such file or directory",
	} {
		a := modules.Attributes{Mode: 0o777, UID: -1, GID: -1}
		for what, err := range map[string]error{
			"write":  w.Write(t.Context(), name, strings.NewReader("x"), a),
			"link":   w.Symlink(t.Context(), name, "x"),
			"remove": w.Remove(t.Context(), name, true),
			"mode":   w.SetAttributes(t.Context(), name, a),
		} {
			require.EqualError(t, err, want, "%s %s", what, name)
		}
	}
	require.Error(t, w.MakeDir(t.Context(), top+"/away/new", modules.Attributes{Mode: 0o755, UID: -1, GID: -1}))
	require.Error(t, w.SetAttributes(t.Context(), top+"/link", modules.Attributes{Mode: 0o777, UID: -1, GID: -1}), "through a link")
	info, err := os.Stat(out + "/f")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	names, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Len(t, names, 1)
}

func TestWithinOfACheck(t *testing.T) {
	top := t.TempDir()
	w := modules.ReadOnly(New()).Files.Within(top)
	require.ErrorIs(t, w.MakeDir(t.Context(), top+"/d", modules.Attributes{Mode: 0o755, UID: -1, GID: -1}), modules.ErrReadOnly)
	require.NoDirExists(t, top+"/d")
}

// TestWithinFollowsNoLink puts a link to another file of the directory in the place of a file to change.
func TestWithinFollowsNoLink(t *testing.T) {
	top := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(top, "secret"), nil, 0o600))
	require.NoError(t, os.Symlink("secret", filepath.Join(top, "f")))
	w := New().Files.Within(top)
	err := w.SetAttributes(t.Context(), top+"/f", modules.Attributes{Mode: 0o644, UID: -1, GID: -1})
	require.EqualError(t, err, "set attributes of "+top+"/f: too many levels of symbolic links")
	info, err := os.Stat(filepath.Join(top, "secret"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
}
