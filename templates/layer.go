package templates

import (
	"maps"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Layer is data of one origin, resolved for one host.
type Layer struct {
	Name   string         // as people know it: "data", "group web", "-e"
	Values map[string]any // plain values, see [Env]
	Node   *yamlpos.Node  // where they stand; nil if they stand in no file
	Deep   bool           // merged by [DeepMerge]; otherwise its keys replace those below whole
}

// Merge lays layers over each other, low to high. The map is fresh; what was not
// merged is shared with the layers.
func Merge(layers []Layer) map[string]any {
	data := map[string]any{}
	for _, l := range layers {
		if l.Deep {
			data = DeepMerge(data, l.Values)
		} else {
			maps.Copy(data, l.Values)
		}
	}
	return data
}
