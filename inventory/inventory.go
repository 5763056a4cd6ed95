package inventory

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// An Inventory is hosts and groups. It is not changed after it was loaded and
// may be used from several goroutines.
type Inventory struct {
	hosts    []*Host // in the order of the files
	groups   []*Group
	hostOf   map[string]*Host
	groupOf  map[string]*Group
	order    []*Host // all of them, as Ansible lists the group all
	warnings []string
	options  Options
	local    *Host // host for localhost; nil if the inventory does not name it
}

// The groups that always exist.
const (
	allGroup = "all"
	// ungrouped holds the hosts that are in no group but all.
	ungrouped = "ungrouped"
)

// A Host is one machine.
type Host struct {
	Name string
	// Groups are the groups of the host and all groups around those, in the order
	// in which their variables are merged: by depth, ansible_group_priority and
	// name. The first is all. Hosts share the slice: do not change it.
	Groups []*Group

	said   content       // content of the inventories
	files  []varFile     // files in host_vars, by folder
	below  *stack        // the content of its groups
	direct []*Group      // the groups that list the host
	first  *yamlpos.Node // where it is first named
	index  int           // in Inventory.hosts
}

// A Group is a set of hosts and of groups.
type Group struct {
	Name     string
	Children []*Group // in the order of the files
	Depth    int      // steps from all, on the longest path
	Priority int      // ansible_group_priority: decides between groups of equal depth; 1 unless set

	said    content
	files   []varFile // files in group_vars, by folder
	hosts   []*Host   // hosts that the group lists itself
	parents []*Group
	first   *yamlpos.Node // where it is first named; nil for all and ungrouped
	index   int           // in Inventory.groups
}

// Hosts lists every host, in the order in which Ansible lists the group all.
func (inv *Inventory) Hosts() []*Host { return slices.Clone(inv.order) }

// Host returns the host with this exact name, or nil. With [Options.AllowImplicitLocalhost] localhost always exists.
func (inv *Inventory) Host(name string) *Host {
	if h := inv.hostOf[name]; h != nil || name != localhost {
		return h
	}
	return inv.local
}

// Group returns the group with this exact name, or nil.
func (inv *Inventory) Group(name string) *Group { return inv.groupOf[name] }

// Groups lists every group, in the order in which the files first name them,
// all and ungrouped before the others.
func (inv *Inventory) Groups() []*Group { return slices.Clone(inv.groups) }

// Warnings name what looks like a mistake in the files but may be meant.
func (inv *Inventory) Warnings() []string { return slices.Clone(inv.warnings) }

// Pos returns the position where the files first name the host: "file:line:column".
func (h *Host) Pos() string { return h.first.Pos() }

// Hosts lists the hosts of the group: its own, then the hosts of its child groups, level by level.
func (g *Group) Hosts() []*Host {
	var seen []bool // by Host.index
	return slices.DeleteFunc(g.members(), func(h *Host) bool {
		if missing := h.index + 1 - len(seen); missing > 0 {
			seen = append(seen, make([]bool, missing)...)
		}
		twice := seen[h.index]
		seen[h.index] = true
		return twice
	})
}

// members is Hosts with a host as often as groups list it.
func (g *Group) members() []*Host {
	var hosts []*Host
	for _, member := range g.tree() {
		hosts = append(hosts, member.hosts...)
	}
	return hosts
}

// tree lists the group and all groups in it, level by level.
func (g *Group) tree() []*Group { return closure(g, func(g *Group) []*Group { return g.Children }) }

// closure lists what can be reached from start, nearest first.
func closure(start *Group, next func(*Group) []*Group) []*Group {
	seen := map[*Group]bool{start: true}
	list := []*Group{start}
	for i := 0; i < len(list); i++ {
		for _, g := range next(list[i]) {
			if !seen[g] {
				seen[g] = true
				list = append(list, g)
			}
		}
	}
	return list
}

// Own lists the hosts that the group lists itself, in the order of the files. The group
// ungrouped lists all hosts that no group but all lists.
func (g *Group) Own() []*Host { return slices.Clone(g.hosts) }
