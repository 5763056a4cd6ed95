package scaffold_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/scaffold"
)

// TestPurgeKeepsToItsMount mounts directories and a file below the target. The target may be reached
// through a link, and through a bind mount.
func TestPurgeKeepsToItsMount(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{
		dir("t"), node("t/x", "x", 0o600), dir("t/m"), dir("t/d"), dir("t/d/m"), node("t/f", "f", 0o600), dir("from"), node("from/precious", "p", 0o600), dir("bound"),
	})
	require.NoError(t, os.Symlink("t", filepath.Join(root, "l")))
	modtest.Tmpfs(t, root+"/t/m")
	require.NoError(t, os.WriteFile(root+"/t/m/precious", nil, 0o600))
	modtest.Bind(t, root+"/from", root+"/t/d/m") // with the device of the target
	modtest.Bind(t, root+"/from/precious", root+"/t/f")
	modtest.Bind(t, root+"/t", root+"/bound")
	before := modtest.Snapshot(t, root)
	for _, target := range []string{"t", "l", "bound"} {
		for ensure, want := range map[string][]string{"present": {"x"}, "absent": nil} {
			s := &scaffold.Scaffold{Name: filepath.Join(root, target), Ensure: ensure, Purge: true, Tree: &modules.Tree{Mode: 0o755, Nodes: []modules.TreeNode{{Path: "m", Mode: 0o755}}}}
			plan, err := s.Check(t.Context(), modules.ReadOnly(modtest.Host()))
			require.NoError(t, err)
			var gone []string
			for _, c := range plan.Changes {
				gone = append(gone, c.Property)
			}
			require.Equal(t, want, gone, "%s %s", target, ensure)
		}
	}
	require.Equal(t, before, modtest.Snapshot(t, root))
}
