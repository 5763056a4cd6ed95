package templates

import (
	"maps"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Layer is data of one origin, resolved for one host.
type Layer struct {
	Name   string         // as people know it: "data", "group web", "-e"
	Values map[string]any // plain values, see [Env]
	Node   *yamlpos.Node  // where they stand; nil if they stand in no file
	Deep   bool           // merged by [DeepMerge]; otherwise its keys replace those below whole
	From   []Layer        // the layers that Values were merged from; nil if Node has all of them
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

// Stack makes one layer of several that belong together: [DeepMerge] lays it over others
// as a whole. [Origins] still tells the layers apart, with name in front of their names.
func Stack(name string, layers []Layer) Layer {
	from := slices.Clone(layers)
	for i := range from {
		from[i].Name = name + " " + from[i].Name
	}
	return Layer{Name: name, Values: Merge(layers), Deep: true, From: from}
}

// DeepMerge lays over on top of base: maps are merged key by key, lists are
// concatenated with those of base first, and anything else of over replaces what
// base has, null and values of another type too. Neither is changed; the result
// shares what was not merged.
func DeepMerge(base, over map[string]any) map[string]any {
	merged := make(map[string]any, len(base)+len(over))
	maps.Copy(merged, base)
	for key, value := range over {
		merged[key] = mergeValue(merged[key], value)
	}
	return merged
}

func mergeValue(base, over any) any {
	switch over := over.(type) {
	case map[string]any:
		if base, ok := base.(map[string]any); ok {
			return DeepMerge(base, over)
		}
	case []any:
		if base, ok := base.([]any); ok {
			list := make([]any, 0, len(base)+len(over))
			return append(append(list, base...), over...)
		}
	}
	return over
}
