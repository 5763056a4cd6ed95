package load

import (
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// foreignHint says what to write in place of a key that a play does not have: one of
// another tool, or one of the ccm section. It is "" for all others.
func foreignHint(key string) string {
	if slices.Contains(keys.OfCCM, key) {
		return fmt.Sprintf("%s stands below ccm: write ccm: {%[1]s: ...}", key)
	}
	if here := ansible.PlaybookKeys[key]; here != "" {
		return "write " + here
	}
	if hint := ansible.PlayKeys[key]; hint != "" {
		return hint
	}
	switch module, ok := ansible.Find(key); {
	case !ok || slices.Contains(keys.OfPlay, key):
		return ""
	case module.Type == key:
		return fmt.Sprintf("resources stand below ccm: write ccm: {resources: [%s: [...]]}", key)
	default: // a file of tasks
		return module.Hint()
	}
}

// withoutForeign reports the keys of a play that have a [foreignHint], and leaves
// them out.
func (f *file) withoutForeign(n *yamlpos.Node) *yamlpos.Node {
	kept := *n
	kept.Pairs = nil
	for _, pair := range n.Pairs {
		if hint := foreignHint(pair.Key.Text); hint != "" {
			f.report.Add(pair.Key.Errorf(hint, "unknown key %q", pair.Key.Text))
			continue
		}
		kept.Pairs = append(kept.Pairs, pair)
	}
	return &kept
}
