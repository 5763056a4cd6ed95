package modules_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

func TestTreeWire(t *testing.T) {
	tree := modules.Tree{Mode: 0o755, Nodes: []modules.TreeNode{
		{Path: "d", Mode: 0o700},
		{Path: "d/f", Mode: 0o644, Content: modules.TextContent("")},
		{Path: "d/large", Mode: 0o600, Content: modules.TextContent(strings.Repeat("x", 600))},
		{Path: "l", Target: "d/f"},
	}}
	require.NoError(t, tree.Validate())
	b, err := json.Marshal(tree)
	require.NoError(t, err)
	large := tree.Nodes[2].Content.SHA256()
	require.JSONEq(t, `{"mode":493,"nodes":[{"path":"d","mode":448},{"path":"d/f","mode":420,"content":{"text":""}},
		{"path":"d/large","mode":384,"content":{"sha256":"`+large+`","size":600}},{"path":"l","target":"d/f"}]}`, string(b))
	var again modules.Tree
	require.NoError(t, json.Unmarshal(b, &again))
	for i, kind := range []modules.FileKind{modules.Directory, modules.Regular, modules.Regular, modules.Symlink} {
		require.Equal(t, kind, again.Nodes[i].Kind())
	}
	require.NotEmpty(t, modules.MissingContents(&again))
}

func TestTreeBounds(t *testing.T) {
	tree := modules.Tree{Nodes: make([]modules.TreeNode, modules.MaxTreeNodes+1)}
	require.EqualError(t, tree.Validate(), "there are more than 10000 files, directories and links")
	require.EqualError(t, (&modules.Tree{Mode: os.ModeSetuid}).Validate(), "the folder has mode u---------, which is more than permissions")
	for path, want := range map[string]string{
		strings.Repeat("d/", 63) + "f": "",
		strings.Repeat("d/", 64) + "f": "is more than 64 directories deep",
		strings.Repeat("x", 255):       "",
		strings.Repeat("x", 256):       "has an element of more than 255 bytes",
		"...":                          "",
		"..x/y":                        "",
		"a\x00":                        `"a\x00" has a NUL byte`,
	} {
		err := modules.ValidateTreePath(path)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

// FuzzTreeLink makes links that are accepted, one after the other, and looks where
// each really leads: never out of the tree.
func FuzzTreeLink(f *testing.F) {
	for _, seed := range [][3]string{
		{"l", "d/up", "d/l/../.."}, {"..", "../..", "../../.."}, {".", "./../x", "d/l"}, {"d//", "../../out", "/etc"}, {"", "l/../..", "../l/../.."},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		root := filepath.Join(t.TempDir(), "tree")
		require.NoError(t, os.MkdirAll(filepath.Join(root, "d/e"), 0o755))
		names := []string{"l", "d/l", "d/e/l"}
		for i, target := range []string{a, b, c} {
			if target == "" || modules.ValidateTreeLink(names[i], target) != nil {
				continue
			}
			if err := os.Symlink(target, filepath.Join(root, names[i])); err != nil {
				continue // too long
			}
		}
		for _, name := range names {
			leads, err := filepath.EvalSymlinks(filepath.Join(root, name))
			if err != nil {
				continue // to nothing, or in a circle
			}
			require.True(t, leads == root || strings.HasPrefix(leads, root+"/"), "%q, %q, %q: %s leads to %s", a, b, c, name, leads)
		}
	})
}
