package inventory

import (
	"iter"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Layer is variables that stand in one place of the files. Passwords are left
// out of it.
type Layer struct {
	Name string        // whose they are: "group all", "group web", "host web1"
	Node *yamlpos.Node // a map
	File string        // that it stands in; Node.Line and the positions in it say where
	// Source says what kind of place that is: "inventory", "group_vars" or
	// "host_vars".
	Source string
	// Deep is [Options.MergeMaps]: whoever lays layers one on the other has to merge
	// the maps in them. [Host.WholeLayers] has done so.
	Deep bool
}

// Layers are what [Host.Vars] merges, low to high: a value replaces those below
// it whole. A group or host that stands in several places has a layer for each.
// With [Options.MergeMaps] maps are merged instead, see [Layer.Deep].
// The order is Ansible's: what the inventories say of the groups, from all to the
// deepest; group_vars of all; group_vars of the other groups; what the
// inventories say of the host; host_vars.
func (h *Host) Layers() []Layer {
	var layers []Layer
	for p := range h.places() {
		layers = p.appendLayers(layers, h.below.deep)
	}
	return layers
}

// WholeLayers are Layers in which with [Options.MergeMaps] each map has in it what
// the layers below have under its name, every entry with its own position: also
// then a value replaces those below it whole.
func (h *Host) WholeLayers() []Layer {
	layers := h.Layers()
	if h.below.deep {
		h.below.accumulate(layers)
	}
	return layers
}

// accumulate puts into each layer what its maps come to over those below them.
func (s *stack) accumulate(layers []Layer) {
	latest := map[string]*yamlpos.Node{}
	for i, l := range layers {
		whole := *l.Node
		whole.Pairs = slices.Clone(l.Node.Pairs)
		for j, p := range whole.Pairs {
			latest[p.Key.Text] = s.over(latest[p.Key.Text], p.Value)
			whole.Pairs[j].Value = latest[p.Key.Text]
		}
		layers[i].Node, layers[i].Deep = &whole, false
	}
}

// Layers lists every layer of the inventory once as it is written, hosts after
// groups.
func (inv *Inventory) Layers() []Layer {
	var layers []Layer
	for _, g := range inv.groups {
		layers = g.place(inInventory, &g.layer).appendLayers(layers, inv.options.MergeMaps)
		for i := range g.files {
			layers = g.place(inGroupVars, &g.files[i].layer).appendLayers(layers, inv.options.MergeMaps)
		}
	}
	for _, h := range inv.hosts {
		for p := range h.own() {
			layers = p.appendLayers(layers, inv.options.MergeMaps)
		}
	}
	return layers
}

// The kinds of places, see [Layer.Source].
const (
	inInventory = "inventory"
	inGroupVars = groupVarsFolder
	inHostVars  = hostVarsFolder
)

// A place is a layer with whose it is and where it comes from.
type place struct {
	kind, name string // "group" or "host", and which
	source     string
	layer      *layer
}

func (p place) appendLayers(layers []Layer, deep bool) []Layer {
	for _, n := range p.layer.vars {
		if len(n.Pairs) > 0 {
			layers = append(layers, Layer{Name: p.kind + " " + p.name, Node: n, File: n.File, Source: p.source, Deep: deep})
		}
	}
	return layers
}

func (g *Group) place(source string, l *layer) place { return place{"group", g.Name, source, l} }

// A stack is the layers of the groups of a host, low to high. Hosts that the same
// groups list share it.
type stack struct {
	places []place
	deep   bool // see Options.MergeMaps
}

// places lists all layers of the host, low to high.
func (h *Host) places() iter.Seq[place] {
	return func(yield func(place) bool) {
		for _, p := range h.below.places {
			if !yield(p) {
				return
			}
		}
		h.own()(yield)
	}
}

// own lists the layers of the host itself.
func (h *Host) own() iter.Seq[place] {
	return func(yield func(place) bool) {
		if !yield(place{"host", h.Name, inInventory, &h.layer}) {
			return
		}
		for i := range h.files {
			if !yield(place{"host", h.Name, inHostVars, &h.files[i].layer}) {
				return
			}
		}
	}
}

// stackOf puts the layers of groups, which are in their merge order, one on the
// other. Files count by folder before they count by group, and those of all come
// before those of any other group, as Ansible has it.
func stackOf(groups []*Group, folders int, deep bool) *stack {
	s := &stack{deep: deep}
	for _, g := range groups {
		s.places = append(s.places, g.place(inInventory, &g.layer))
	}
	all := slices.IndexFunc(groups, func(g *Group) bool { return g.Name == allGroup })
	s.addFiles(groups[all:all+1], folders)
	s.addFiles(slices.Concat(groups[:all], groups[all+1:]), folders)
	return s
}

func (s *stack) addFiles(groups []*Group, folders int) {
	for folder := range folders {
		for _, g := range groups {
			for i := range g.files {
				if g.files[i].folder == folder {
					s.places = append(s.places, g.place(inGroupVars, &g.files[i].layer))
				}
			}
		}
	}
}
