package templates

import (
	"maps"
	"slices"
	"strconv"

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

// An Origin is where a value comes from.
type Origin struct {
	Layer string
	Node  *yamlpos.Node // nil when it stands in no file
}

// Origins lists the layers that set the value at a path of [Merge]'s result: keys, and
// indexes of lists. A list that was concatenated and a map that was merged can have
// several, low to high. A value that an expression gave has the position of the
// expression. The list is empty if there is no such value.
func Origins(layers []Layer, path []string) []Origin {
	var found []claim
	if len(path) == 0 {
		found = whole(layers)
	} else {
		found = topClaims(layers, path[0])
		for _, key := range path[1:] {
			found = claimsBelow(found, key)
		}
	}
	origins := make([]Origin, len(found))
	for i, c := range found {
		origins[i] = Origin{c.layer, c.node}
	}
	return origins
}

// A claim is what a layer has at some path. The claims on one path are in the order of
// their layers, low to high. Several claims are all maps or all lists.
type claim struct {
	layer string
	value any
	node  *yamlpos.Node
}

func whole(layers []Layer) []claim {
	var all []claim
	for _, l := range layers {
		if len(l.From) > 0 {
			all = append(all, whole(l.From)...)
		} else {
			all = append(all, claim{layer: l.Name, node: l.Node})
		}
	}
	return all
}

// topClaims are the claims on a key of the merged data.
func topClaims(layers []Layer, key string) []claim {
	var found []claim
	for _, l := range layers {
		value, has := l.Values[key]
		if !has {
			continue
		}
		over := []claim{{l.Name, value, nodeBelow(l.Node, key)}}
		if len(l.From) > 0 {
			over = topClaims(l.From, key)
		}
		found = laidOver(found, over, l.Deep)
	}
	return found
}

// claimsBelow are the claims on what a key or an index of a value leads to.
func claimsBelow(claims []claim, key string) []claim {
	var found []claim
	skip, err := strconv.Atoi(key) // elements until that of the index
	for _, c := range claims {
		switch value := c.value.(type) {
		case map[string]any:
			if v, has := value[key]; has {
				found = laidOver(found, []claim{{c.layer, v, nodeBelow(c.node, key)}}, true)
			}
		case []any:
			if err == nil && skip >= 0 && skip < len(value) {
				return []claim{{c.layer, value[skip], nodeBelow(c.node, strconv.Itoa(skip))}}
			}
			skip -= len(value)
		}
	}
	return found
}

// laidOver merges claims as [DeepMerge] does values, or replaces them.
func laidOver(found, over []claim, deep bool) []claim {
	if deep && len(found) > 0 && len(over) > 0 && mergeable(found[0].value, over[0].value) {
		return append(found, over...)
	}
	return over
}

func mergeable(a, b any) bool {
	switch a.(type) {
	case map[string]any:
		_, same := b.(map[string]any)
		return same
	case []any:
		_, same := b.([]any)
		return same
	}
	return false
}

// nodeBelow is the node of a key or an index. Below the result of an expression it is the
// node of the expression.
func nodeBelow(n *yamlpos.Node, key string) *yamlpos.Node {
	if n == nil {
		return nil
	}
	if value := n.Get(key); value != nil {
		return value
	}
	if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Items) {
		return n.Items[i]
	}
	return n
}
