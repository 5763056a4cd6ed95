package inventory

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/layers"
	"github.com/ccm-push/ccm-push/inventory/varfiles"
)

// A Layer is variables that stand in one place of the files.
type Layer = layers.Layer

// Vars gives the variables of the host: those of its [Host.Layers]. A later value
// replaces an earlier one whole, or with [Options.MergeMaps], maps are merged. The
// map is fresh, the caller may change it. What stands below connect: is no
// variable, nor is a password.
func (h *Host) Vars() map[string]any {
	var room [few]layers.Place
	return layers.Vars(h.appendPlaces(room[:0]), h.below.deep)
}

// few is for how many places there is room without allocating; most hosts have no
// more.
const few = 8

// Layers are what [Host.Vars] merges, low to high: a value replaces those below
// it whole. A group or host that stands in several places has a layer for each.
// With [Options.MergeMaps] maps are merged instead, see [layers.Layer].
// The order is Ansible's: what the inventories say of the groups, from all to the
// deepest; group_vars of all; group_vars of the other groups; what the
// inventories say of the host; host_vars.
func (h *Host) Layers() []Layer { return layers.List(h.places(), h.below.deep) }

// WholeLayers are Layers in which with [Options.MergeMaps] each map has in it what
// the layers below have under its name, every entry with its own position: also
// then a value replaces those below it whole.
func (h *Host) WholeLayers() []Layer { return layers.Whole(h.places(), h.below.deep) }

// Layers lists every layer of the inventory once as it is written, hosts after
// groups.
func (inv *Inventory) Layers() []Layer { return layers.List(inv.places(), inv.options.MergeMaps) }

// inInventory is the kind of places that are not files of variables, whose kinds
// are the names of their folders.
const inInventory = "inventory"

func (g *Group) place(source string, said *layers.Content) layers.Place {
	return layers.Place{Kind: "group", Name: g.Name, Source: source, Content: said}
}

// A stack is what is said of the groups of a host, low to high. Hosts that the same
// groups list share it.
type stack struct {
	places []layers.Place
	deep   bool // see Options.MergeMaps
}

// places lists all that is said of the host, low to high.
func (h *Host) places() []layers.Place { return h.appendPlaces(nil) }

func (h *Host) appendPlaces(list []layers.Place) []layers.Place {
	return h.appendOwn(append(list, h.below.places...))
}

// appendOwn adds what is said of the host itself.
func (h *Host) appendOwn(list []layers.Place) []layers.Place {
	list = append(list, layers.Place{Kind: "host", Name: h.Name, Source: inInventory, Content: &h.said})
	for i := range h.files {
		list = append(list, layers.Place{Kind: "host", Name: h.Name, Source: varfiles.OfHosts, Content: &h.files[i].said})
	}
	return list
}

// places lists all that is said, hosts after groups.
func (inv *Inventory) places() []layers.Place {
	var list []layers.Place
	for _, g := range inv.groups {
		list = append(list, g.place(inInventory, &g.said))
		for i := range g.files {
			list = append(list, g.place(varfiles.OfGroups, &g.files[i].said))
		}
	}
	for _, h := range inv.hosts {
		list = h.appendOwn(list)
	}
	return list
}

// stackOf puts what is said of groups, which are in their merge order, one on the
// other. Files count by folder before they count by group, and those of all come
// before those of any other group, as Ansible has it.
func stackOf(groups []*Group, folders int, deep bool) *stack {
	s := &stack{deep: deep}
	for _, g := range groups {
		s.places = append(s.places, g.place(inInventory, &g.said))
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
					s.places = append(s.places, g.place(varfiles.OfGroups, &g.files[i].said))
				}
			}
		}
	}
}
