package inventory

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Layer is a map of variables from one place in the files, without passwords.
type Layer struct {
	Name string        // the group or host: "group all", "group web", "host web1"
	Node *yamlpos.Node // a map
	File string        // the file of the map; Node.Line and the positions in it say where
	// Source is the kind of that place: "inventory", "group_vars" or "host_vars".
	Source string
	// Deep reports that maps are merged: if this layer is put over others, the maps in it must be merged, as
	// [MergeLayers] does. [Host.WholeLayers] has already merged them.
	Deep bool
}

// Vars returns the variables of the host, merged from its [Host.Layers]. A later value replaces an earlier one
// completely; with [Options.MergeMaps], maps are merged. The caller owns the map. Keys of connect: and passwords are
// not variables.
func (h *Host) Vars() map[string]any {
	var room [few]place
	latest := map[string]*yamlpos.Node{}
	for _, p := range h.appendPlaces(room[:0]) {
		for _, n := range p.vars {
			lay(n, latest, h.below.deep)
		}
	}
	vars := make(map[string]any, len(latest))
	for name, value := range latest {
		vars[name] = value.Any()
	}
	return vars
}

// Secrets returns the maps merged by [Host.Vars] that contain a value marked as secret: see [yamlpos.Node.Secret].
func (h *Host) Secrets() (maps []*yamlpos.Node) {
	var room [few]place
	for _, p := range h.appendPlaces(room[:0]) {
		for _, n := range p.vars {
			if n.Secret {
				maps = append(maps, n)
			}
		}
	}
	return maps
}

// Layers returns the layers that [Host.Vars] merges, lowest first: a value completely replaces lower values. A group or
// host that has several places has a layer for each. With [Options.MergeMaps] maps are merged instead, see [Layer]. The
// order is Ansible's: groups in the inventories, from all to the deepest; group_vars of all; group_vars of the other
// groups; the host in the inventories; host_vars.
func (h *Host) Layers() []Layer { return listLayers(h.places(), h.below.deep) }

// WholeLayers are Layers in which a value always replaces those below it whole. With
// [Options.MergeMaps] each map already holds what the layers below have under its name,
// every entry with its own position.
func (h *Host) WholeLayers() []Layer {
	list := h.Layers()
	if !h.below.deep {
		return list
	}
	latest := map[string]*yamlpos.Node{}
	for i, l := range list {
		whole := *l.Node
		whole.Pairs = slices.Clone(l.Node.Pairs)
		for j, p := range whole.Pairs {
			latest[p.Key.Text] = over(latest[p.Key.Text], p.Value)
			whole.Pairs[j].Value = latest[p.Key.Text]
		}
		list[i].Node, list[i].Deep = &whole, false
	}
	return list
}

// Layers lists every layer of the inventory once as it is written, hosts after
// groups.
func (inv *Inventory) Layers() []Layer { return listLayers(inv.places(), inv.options.MergeMaps) }

// listLayers returns the layers of places: one for each non-empty map of variables.
func listLayers(places []place, deep bool) []Layer {
	var list []Layer
	for _, p := range places {
		for _, n := range p.vars {
			if len(n.Pairs) > 0 {
				list = append(list, Layer{Name: p.of(), Node: n, File: n.File, Source: p.source, Deep: deep})
			}
		}
	}
	return list
}

// MergeLayers merges the variables of layers, lowest first.
func MergeLayers(layers []Layer) map[string]*yamlpos.Node {
	latest := map[string]*yamlpos.Node{}
	for _, l := range layers {
		lay(l.Node, latest, l.Deep)
	}
	return latest
}

// lay puts a map of variables over the variables of lower layers.
func lay(n *yamlpos.Node, latest map[string]*yamlpos.Node, deep bool) {
	for _, p := range n.Pairs {
		value := p.Value
		if deep {
			value = over(latest[p.Key.Text], value)
		}
		latest[p.Key.Text] = value
	}
}

// over puts a value over the value of a lower layer, which may be nil. Two maps are merged entry by entry, anything
// else is replaced.
func over(below, above *yamlpos.Node) *yamlpos.Node {
	if below == nil || below.Kind != yamlpos.Map || above.Kind != yamlpos.Map {
		return above
	}
	merged := *above
	merged.Secret = above.Secret || below.Secret
	merged.Pairs = slices.Clone(below.Pairs)
	index := make(map[string]int, len(merged.Pairs))
	for i, p := range merged.Pairs {
		index[p.Key.Text] = i
	}
	for _, p := range above.Pairs {
		i, known := index[p.Key.Text]
		if !known {
			merged.Pairs = append(merged.Pairs, p)
			continue
		}
		merged.Pairs[i] = yamlpos.Pair{Key: p.Key, Value: over(merged.Pairs[i].Value, p.Value)}
	}
	return &merged
}
