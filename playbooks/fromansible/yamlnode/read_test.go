package yamlnode_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// FuzzParse holds that a document that is read can be written again: its aliases end, and it is not deep.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "a: [1, {b: c}]\n", "- &a [*a]\n", "&a {b: *a}", "$ANSIBLE_VAULT;1.1;AES256\n", "null", "a: &x [1]\nb: [*x, *x]\n", strings.Repeat("[", 300), "a: b: c"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		node, err := yamlnode.Parse(text, "play.yml")
		switch {
		case err == yamlnode.ErrVault:
			require.True(t, strings.HasPrefix(string(text), "$ANSIBLE_VAULT;"))
		case err != nil:
			require.Nil(t, node)
			require.True(t, strings.HasPrefix(err.Error(), "play.yml: "), err)
		case node != nil:
			require.NotEqual(t, yaml.DocumentNode, node.Kind)
			require.NotEqual(t, "!!null", node.Tag)
		}
	})
}
