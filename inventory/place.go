package inventory

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/inventory/source"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A content has the variables and the connection settings of one group, host or file of variables. All inventories add
// to the content of a group or host; later ones win.
type content struct {
	vars     []*yamlpos.Node     // maps
	connects []*yamlpos.Node     // maps, without passwords; the tests write them again
	settings connection.Settings // connection settings in vars and connects
	whole    []wholeMap          // the maps with their passwords, for another machine: see [Part]
}

// A wholeMap is a map of variables as written, or the map below connect:.
type wholeMap struct {
	connect bool
	node    *yamlpos.Node
}

// add lays more over what there is.
func (c *content) add(more content) {
	c.vars = append(c.vars, more.vars...)
	c.connects = append(c.connects, more.connects...)
	c.settings.Add(more.settings)
	c.whole = append(c.whole, more.whole...)
}

// A place is content, with its group or host and its source.
type place struct {
	kind, name string // "group" or "host", and which
	source     string // see [Layer.Source]
	*content
}

// of returns the kind and name of the group or host: "group web".
func (p place) of() string { return p.kind + " " + p.name }

// inInventory is the source of places in the inventory itself. The source of a file of
// variables is the name of its folder.
const inInventory = "inventory"

func (g *Group) place(source string, said *content) place {
	return place{kind: "group", name: g.Name, source: source, content: said}
}

// few is up to how many places of a host need no allocation; most hosts have no more.
const few = 8

// A stack is the content of the groups of a host, from low to high precedence. Hosts of
// the same groups share it.
type stack struct {
	places []place
	deep   bool // see Options.MergeMaps
}

// places lists all content that counts for the host, from low to high precedence.
func (h *Host) places() []place { return h.appendPlaces(nil) }

func (h *Host) appendPlaces(list []place) []place {
	return h.appendOwn(append(list, h.below.places...))
}

// appendOwn adds the content of the host itself.
func (h *Host) appendOwn(list []place) []place {
	list = append(list, place{kind: "host", name: h.Name, source: inInventory, content: &h.said})
	for i := range h.files {
		list = append(list, place{kind: "host", name: h.Name, source: source.HostVars, content: &h.files[i].said})
	}
	return list
}

// places lists all content of the inventory, hosts after groups.
func (inv *Inventory) places() []place {
	var list []place
	for _, g := range inv.groups {
		list = append(list, g.place(inInventory, &g.said))
		for i := range g.files {
			list = append(list, g.place(source.GroupVars, &g.files[i].said))
		}
	}
	for _, h := range inv.hosts {
		list = h.appendOwn(list)
	}
	return list
}

// stackOf stacks the content of groups, which are in their merge order. Files are ordered by folder first and then by
// group, and files of the group all come before files of any other group, as in Ansible.
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
					s.places = append(s.places, g.place(source.GroupVars, &g.files[i].said))
				}
			}
		}
	}
}
