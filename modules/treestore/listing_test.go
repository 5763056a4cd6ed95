package treestore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// FuzzParse reads listings: no path of any listing leads out.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mode":448,"nodes":[{"path":"a","mode":448},{"path":"a/b","mode":320,"content":{"text":"x"}},{"path":"l","target":"a/b"}]}`))
	f.Add([]byte(`{"nodes":[{"path":"../x"},{"path":"l","target":"/etc"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := parse(text)
		if err != nil {
			return
		}
		for i := range tree.Nodes {
			n := &tree.Nodes[i]
			require.NoError(t, modules.ValidateTreePath(n.Path))
			require.Contains(t, []uint32{0o400, 0o500}, uint32(mode(n)))
			if n.Kind() == modules.Symlink {
				require.NoError(t, modules.ValidateTreeLink(n.Path, n.Target))
			}
		}
	})
}
