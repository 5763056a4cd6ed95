package yamlnode_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// FuzzAsAnsible holds that a rewritten document has the values that Ansible reads, and that a second time changes nothing.
func FuzzAsAnsible(f *testing.F) {
	for _, text := range []string{"a: no # b\n", "a: [yes, 1:30, 0o17]\nb: {c: on}\n", "no: off", "- ~\n- =", "a: &x yes\nb: *x\n", "$ANSIBLE_VAULT;1.1;AES256\n", "a: 2001-02-03", "é: [é, no]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rewritten, left := yamlnode.AsAnsible(text)
		before, err := yamlnode.Parse(text, "")
		if err != nil || len(left) > 0 {
			return
		}
		after, err := yamlnode.Parse(rewritten, "")
		require.NoError(t, err, "%q", rewritten)
		if before != nil {
			require.Equal(t, string(yamlnode.Encode(before)), string(yamlnode.Encode(after)))
		}
		again, _ := yamlnode.AsAnsible(rewritten)
		require.Equal(t, string(rewritten), string(again))
	})
}

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
