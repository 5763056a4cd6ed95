package manifest

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Registering returns the first place of each file that registers something.
func Registering(plays []*Play) (places []*yamlpos.Node) {
	for _, p := range plays {
		Walk(p.Resources, func(r *Resource, _ int) {
			if r.Registers == nil || r.Unselected {
				return
			}
			at := r.Registers.Node
			if !slices.ContainsFunc(places, func(n *yamlpos.Node) bool { return n.File == at.File }) {
				places = append(places, at)
			}
		})
	}
	return places
}
