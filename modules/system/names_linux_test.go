package system

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

// TestOtherNames has a user give one of root's files a name where the user may.
func TestOtherNames(t *testing.T) {
	needs.Root(t, "only root changes what belongs to others")
	root := t.TempDir()
	home := filepath.Join(root, "home")
	require.NoError(t, os.Mkdir(home, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "shadow"), nil, 0o600))
	require.NoError(t, os.Link(filepath.Join(root, "shadow"), home+"/x"))
	a := modules.Attributes{Mode: 0o644, UID: 65534, GID: 65534}
	h := New()
	require.NoError(t, h.Files.MaySetAttributes(home+"/x", a), "in root's own directory")
	require.NoError(t, os.Chown(home, 65534, 65534))
	want := `"` + home + `/x" has 2 names (hard links), and is in a directory where others than root may write (owner 65534, mode 0755): ` +
		`owner and mode are not changed, because the file may belong to another directory; remove the file, or its other names`
	require.EqualError(t, h.Files.MaySetAttributes(home+"/x", a), want)
	require.EqualError(t, h.Files.SetAttributes(t.Context(), home+"/x", a), want)
	info, err := h.Files.Stat(filepath.Join(root, "shadow"))
	require.NoError(t, err)
	require.Equal(t, modules.FileInfo{Kind: modules.Regular, Mode: 0o600, Links: 2}, info)
}

// TestLeavings checks that the next writer of a file removes temporary files of a killed writer, and no other files.
func TestLeavings(t *testing.T) {
	const hex = ".ccm-0123456789abcdef"
	for what, write := range map[string]func(h modules.Host, dir string) error{
		"file": func(h modules.Host, dir string) error {
			return h.Files.Write(t.Context(), dir+"/f", strings.NewReader("x"), modules.Attributes{Mode: 0o644, UID: -1, GID: -1})
		},
		"directory": func(h modules.Host, dir string) error {
			return h.Files.MakeDir(t.Context(), dir+"/f/g", modules.Attributes{Mode: 0o755, UID: -1, GID: -1})
		},
		"link": func(h modules.Host, dir string) error { return h.Files.Symlink(t.Context(), dir+"/f", "x") },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(dir+"/.other"+hex, nil, 0o600))
			require.NoError(t, os.MkdirAll(dir+"/.d"+hex+"/a", 0o700))
			require.NoError(t, write(New(), dir))
			require.Equal(t, []string{"f"}, names(t, dir))
		})
	}
}
