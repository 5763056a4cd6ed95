package system

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// TestOtherNames has a user give one of root's files a name where the user may.
func TestOtherNames(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root changes what belongs to others")
	}
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
		`its owner and mode are not changed, since it may be a file from elsewhere; remove it, or its other names`
	require.EqualError(t, h.Files.MaySetAttributes(home+"/x", a), want)
	require.EqualError(t, h.Files.SetAttributes(t.Context(), home+"/x", a), want)
	info, err := h.Files.Stat(filepath.Join(root, "shadow"))
	require.NoError(t, err)
	require.Equal(t, modules.FileInfo{Kind: modules.Regular, Mode: 0o600, Links: 2}, info)
}
