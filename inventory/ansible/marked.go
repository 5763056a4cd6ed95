package ansible

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// What a text with the tag !unsafe, or !vault, is in Ansible's JSON: a map with this
// key.
const (
	unsafeKey = "__ansible_unsafe"
	vaultKey  = "__ansible_vault"
)

// Marked gives n with the texts for which such maps stand, as Ansible reads JSON. It is
// n itself if there are none.
func Marked(n *yamlpos.Node) *yamlpos.Node {
	if text := markedText(n); text != nil {
		return text
	}
	var changed *yamlpos.Node
	change := func() *yamlpos.Node {
		if changed == nil {
			other := *n
			other.Pairs, other.Items = slices.Clone(n.Pairs), slices.Clone(n.Items)
			changed = &other
		}
		return changed
	}
	for i, p := range n.Pairs {
		if value := Marked(p.Value); value != p.Value {
			change().Pairs[i].Value = value
		}
	}
	for i, item := range n.Items {
		if value := Marked(item); value != item {
			change().Items[i] = value
		}
	}
	if changed != nil {
		return changed
	}
	return n
}

// markedText is the text that a map stands for; nil if it is no such map.
func markedText(n *yamlpos.Node) *yamlpos.Node {
	if len(n.Pairs) != 1 || n.Pairs[0].Value.Kind != yamlpos.Scalar {
		return nil
	}
	text := *n.Pairs[0].Value
	_, isText := text.Value.(string)
	switch key := n.Pairs[0].Key.Text; {
	case key == unsafeKey:
		text.Plain = isText // a number has nothing to evaluate
	case key == vaultKey && isText:
		text.Encrypted = true
	default:
		return nil
	}
	return &text
}
