package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
)

// TestWrongReverse uses plays that could not undo their own resources, or would undo another play's.
func TestWrongReverse(t *testing.T) {
	const motd = "/motd: {content: x, owner: root, group: root, mode: '0644', reverse: true}"
	for _, test := range []struct{ name, text, want string }{
		{"no name", "ccm: {resources: [{file: [" + motd + "]}]}\n",
			"site.yaml:1:87: \"reverse\" is set, but the play has no key \"remembered_as\"\n  hint: write remembered_as: OWNER/NAME in the play, with a name that no other manifest for the same hosts has"},
		{"no name, and an expression", "ccm: {resources: [{file: [/motd: {ensure: absent, reverse: '{{ Data.x }}'}]}]}\n",
			"site.yaml:1:51: \"reverse\" is set, but the play has no key \"remembered_as\"\n  hint: write remembered_as: OWNER/NAME in the play, with a name that no other manifest for the same hosts has"},
		{"a type that cannot", "remembered_as: a\nccm: {resources: [{exec: [x: {command: 'true', reverse: true}]}]}\n",
			"site.yaml:2:48: type exec cannot be undone\n  hint: these can: " + strings.Join(builtin.Types().Reversers(), ", ")},
		{"a program of others", "remembered_as: a\nccm: {resources: [{dsc: [x: {type: A/B, properties: {}, reverse: true}]}]}\n",
			"site.yaml:2:57: type dsc cannot be undone\n  hint: these can: " + strings.Join(builtin.Types().Reversers(), ", ")},
		{"an expression", "remembered_as: '{{ Data.x }}'\nccm: {resources: [{file: [" + motd + "]}]}\n",
			"site.yaml:1:16: \"remembered_as\" cannot be an expression\n  hint: write a fixed value without an expression, because ccm-push reads this key before any host is known"},
		{"no words", "remembered_as: acme//web\nccm: {resources: [{file: [" + motd + "]}]}\n",
			"site.yaml:1:16: \"acme//web\" is not the name of a play: use words of letters, digits, ., _ and - with / between them, at most 128 bytes\n  hint: write something like acme/web-base"},
		{"two plays of one name", "- {remembered_as: a, ccm: {resources: []}}\n- {remembered_as: a, ccm: {resources: []}}\n",
			"site.yaml:2:19: another play already has remembered_as: a: site.yaml:1:19\n  hint: give each play its own \"remembered_as\""},
		{"beside include", "- {remembered_as: a, include: other.yaml}\n",
			"site.yaml:1:4: \"remembered_as\" cannot be used together with \"include\"\n  hint: write it into the included manifest"},
		{"included twice", "- {include: other.yaml}\n- {include: other.yaml}\n",
			"other.yaml:1:16: another play already has remembered_as: b: other.yaml:1:16\n  hint: give each play its own \"remembered_as\""},
		{"in a nested manifest", "remembered_as: a\nccm: {resources: [{apply: [nested.yaml: {}]}]}\n",
			"nested.yaml:1:87: the key \"reverse\" cannot be used in a nested manifest\n  hint: move the resource into the play itself: the resources of a nested manifest are not always known"},
		{"of a nested manifest", "remembered_as: a\nccm: {resources: [{apply: [plain.yaml: {reverse: true}]}]}\n",
			"site.yaml:2:41: \"reverse\" cannot be set for a resource that applies a manifest\n  hint: move the resources with \"reverse\" into the play itself"},
		{"a name for a nested manifest", "ccm: {resources: [{apply: [other.yaml: {}]}]}\n",
			"other.yaml:1:1: the key \"remembered_as\" cannot be used in a nested manifest\n  hint: move the key to the play that applies this manifest\nother.yaml:2:18: manifest must contain resources"},
		{"nothing, and no name", "ccm: {resources: []}\n", "site.yaml:1:18: manifest must contain resources"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"site.yaml": test.text, "other.yaml": "remembered_as: b\nccm: {resources: []}\n",
				"nested.yaml": "ccm: {resources: [{file: [" + motd + "]}]}\n", "plain.yaml": "ccm: {resources: [{file: [/motd: {ensure: absent}]}]}\n",
			} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
			}
			_, err := Files(t.Context(), []string{filepath.Join(dir, "site.yaml")}, builtin.Types())
			require.Error(t, err)
			require.Equal(t, test.want, strings.ReplaceAll(err.Error(), dir+"/", ""))
		})
	}
}
