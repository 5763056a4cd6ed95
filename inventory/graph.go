package inventory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// maxCycles bounds how many circles are reported: each names all its groups.
const maxCycles = 10

// cycles reports groups that contain themselves.
func (b *builder) cycles() {
	var path []*Group
	on, done := map[*Group]bool{}, map[*Group]bool{} // on: in path
	found := 0
	var visit func(g *Group)
	visit = func(g *Group) {
		path, on[g] = append(path, g), true
		for _, child := range g.Children {
			switch {
			case on[child] && found < maxCycles:
				found++
				b.reportCycle(path[slices.Index(path, child):], child)
			case !on[child] && !done[child]:
				visit(child)
			}
		}
		path, on[g] = path[:len(path)-1], false
		done[g] = true
	}
	for _, g := range b.inv.groups {
		if !done[g] {
			visit(g)
		}
	}
}

func (b *builder) reportCycle(circle []*Group, again *Group) {
	var names strings.Builder
	for _, g := range circle {
		names.WriteString(g.Name + " -> ")
	}
	at := b.edges[edge{circle[len(circle)-1], again}]
	b.errs.Add(at.Errorf("remove one of these children", "groups contain each other: %s%s", names.String(), again.Name))
}

// setDepths sets the depth of every group: the length of the longest path from all to it.
func setDepths(groups []*Group) {
	known := map[*Group]bool{}
	var depth func(g *Group) int
	depth = func(g *Group) int {
		if !known[g] {
			known[g] = true
			for _, p := range g.parents {
				g.Depth = max(g.Depth, depth(p)+1)
			}
		}
		return g.Depth
	}
	for _, g := range groups {
		depth(g)
	}
}

// collectUngrouped makes ungrouped hold exactly the hosts that no group but all lists,
// whatever the files say. As in Ansible, hosts that the files list there come first.
func (b *builder) collectUngrouped() {
	all, rest := b.inv.groupOf[allGroup], b.inv.groupOf[ungrouped]
	isGrouped := func(h *Host) bool {
		return slices.ContainsFunc(h.direct, func(g *Group) bool { return g != all && g != rest })
	}
	rest.hosts = slices.DeleteFunc(rest.hosts, isGrouped)
	for _, h := range b.inv.hosts {
		listed := slices.Contains(h.direct, rest)
		switch {
		case isGrouped(h) && listed:
			h.direct = slices.DeleteFunc(h.direct, func(g *Group) bool { return g == rest })
		case !isGrouped(h) && !listed:
			h.direct = append(h.direct, rest)
			rest.hosts = append(rest.hosts, h)
		}
	}
}

// setMergeOrder fills Host.Groups and Host.below. Hosts of the same groups share both,
// so a large group costs no more than a small one.
func (b *builder) setMergeOrder() {
	type shared struct {
		groups []*Group
		below  *stack
	}
	known := map[string]shared{}
	var key []byte
	for _, h := range b.inv.everyHost() {
		key = key[:0]
		for _, g := range h.direct {
			key = append(append(key, g.Name...), '\n')
		}
		s, ok := known[string(key)]
		if !ok {
			s.groups = mergeOrder(h.direct)
			s.below = stackOf(s.groups, b.fileFolders, b.inv.options.MergeMaps)
			known[string(key)] = s
		}
		h.Groups, h.below = s.groups, s.below
	}
}

// mergeOrder lists groups and all their ancestors, in the order in which variables of later ones replace variables of
// earlier ones.
func mergeOrder(direct []*Group) []*Group {
	seen := map[*Group]bool{}
	var list []*Group
	for _, g := range direct {
		for _, above := range closure(g, func(g *Group) []*Group { return g.parents }) {
			if !seen[above] {
				seen[above] = true
				list = append(list, above)
			}
		}
	}
	slices.SortFunc(list, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Priority, b.Priority), strings.Compare(a.Name, b.Name))
	})
	return list
}

const localhost = "localhost"

// implicitLocalhost makes the host that the patterns localhost, 127.0.0.1 and ::1
// mean if the inventory lists none of the three. As in Ansible it is in the group
// all, and no pattern but its name selects it.
func (b *builder) implicitLocalhost() {
	if !b.inv.options.AllowImplicitLocalhost {
		return
	}
	for _, name := range pattern.LocalNames {
		if h := b.inv.hostOf[name]; h != nil {
			b.inv.local = h
			return
		}
	}
	at := yamlpos.TextFrom("the implicit "+localhost, localhost)
	b.inv.local = &Host{Name: localhost, first: at, index: len(b.inv.hosts), direct: []*Group{b.inv.groupOf[allGroup]}}
	b.variables(&b.inv.local.said, yamlpos.From(at, map[string]any{"ansible_connection": "local"}))
}

// everyHost lists the hosts of the inventory, and the implicit one.
func (inv *Inventory) everyHost() []*Host {
	if h := inv.local; h != nil && inv.hostOf[h.Name] != h {
		return append(slices.Clip(inv.hosts), h)
	}
	return inv.hosts
}
