package inventory

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Layer is variables that stand in one place of the files. Passwords are left
// out of it.
type Layer struct {
	Name string        // the group or host: "group all", "group web", "host web1"
	Node *yamlpos.Node // a map
	File string        // the file of the map; Node.Line and the positions in it say where
	// Source says what kind of place that is: "inventory", "group_vars" or
	// "host_vars".
	Source string
	// Deep says that maps are merged: laying this layer over others has to merge the
	// maps in them, as [MergeLayers] does. [Host.WholeLayers] has done so.
	Deep bool
}

// Vars gives the variables of the host: those of its [Host.Layers]. A later value
// replaces an earlier one whole, or with [Options.MergeMaps], maps are merged. The
// map is fresh, the caller may change it. What stands below connect: is no
// variable, nor is a password.
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

// Secrets are the maps among what [Host.Vars] merges in which something is marked as
// secret: see [yamlpos.Node.Secret].
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

// Layers are what [Host.Vars] merges, low to high: a value replaces those below
// it whole. A group or host that stands in several places has a layer for each.
// With [Options.MergeMaps] maps are merged instead, see [Layer].
// The order is Ansible's: what the inventories say of the groups, from all to the
// deepest; group_vars of all; group_vars of the other groups; what the
// inventories say of the host; host_vars.
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

// listLayers gives the layers of places: one for each map of variables that has any.
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

// MergeLayers gives the variables that layers, low to high, come to.
func MergeLayers(layers []Layer) map[string]*yamlpos.Node {
	latest := map[string]*yamlpos.Node{}
	for _, l := range layers {
		lay(l.Node, latest, l.Deep)
	}
	return latest
}

// lay lays a map of variables over those of lower layers.
func lay(n *yamlpos.Node, latest map[string]*yamlpos.Node, deep bool) {
	for _, p := range n.Pairs {
		value := p.Value
		if deep {
			value = over(latest[p.Key.Text], value)
		}
		latest[p.Key.Text] = value
	}
}

// over lays a value over that of a lower layer, which may be nil. Two maps are merged
// entry by entry, anything else is replaced.
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
