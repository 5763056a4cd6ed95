package hiera

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/scope"
)

// FromHost gives the keys of the data whose values are made of facts, for
// [scope.Taint]. It does not matter whether something else replaces them for a host.
func (s Source) FromHost() map[string]bool {
	keys := map[string]bool{}
	documents := append(slices.Clone(s.files), s.data)
	for _, d := range s.overrides {
		documents = append(documents, d)
	}
	for _, d := range documents {
		if d.node == nil {
			continue
		}
		for _, pair := range d.node.Pairs {
			if d.fromHost(pair.Value) {
				keys[pair.Key.Text] = true
			}
		}
	}
	return keys
}

func (d document) fromHost(n *yamlpos.Node) bool {
	if text := d.texts[n]; text != nil {
		return text.FromHost(scope.Taint{})
	}
	return slices.ContainsFunc(n.Items, d.fromHost) ||
		slices.ContainsFunc(n.Pairs, func(p yamlpos.Pair) bool { return d.fromHost(p.Value) })
}
