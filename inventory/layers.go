package inventory

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Layer is variables that stand in one place of the files.
type Layer struct {
	Name string        // whose they are: "group all", "group web", "host web1"
	Node *yamlpos.Node // a map
}

// Layers are what [Host.Vars] merges, low to high: a value replaces those below
// it whole. A group or host that stands in several places has a layer for each.
func (h *Host) Layers() []Layer {
	var layers []Layer
	for _, g := range h.Groups {
		for _, n := range g.layer.vars {
			layers = appendLayer(layers, "group "+g.Name, withoutPriority(n))
		}
	}
	for _, n := range h.layer.vars {
		layers = appendLayer(layers, "host "+h.Name, n)
	}
	return layers
}

func appendLayer(layers []Layer, name string, n *yamlpos.Node) []Layer {
	if len(n.Pairs) == 0 {
		return layers
	}
	return append(layers, Layer{name, n})
}

// withoutPriority leaves out what is a property of the group and no variable.
func withoutPriority(vars *yamlpos.Node) *yamlpos.Node {
	if vars.Get(priorityKey) == nil {
		return vars
	}
	rest := *vars
	rest.Pairs = slices.DeleteFunc(slices.Clone(vars.Pairs), func(p yamlpos.Pair) bool { return p.Key.Text == priorityKey })
	return &rest
}
