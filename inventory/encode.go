package inventory

import (
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Encode writes the inventory as YAML that [Parse] reads back into an equal one:
// same hosts, groups, orders, variables and connections. Passwords are left out, and
// what stands in group_vars and host_vars. The hosts of ungrouped come in the order
// in which they were first named: those that stood there came before those that only
// all listed, and YAML that names each group once cannot always say both orders.
// Ranges and aliases are written out, and what several inventories say is merged.
func (inv *Inventory) Encode() []byte {
	var e encoder
	// ungrouped fixes the order of the hosts and has their variables. Parse takes
	// those that other groups list out of it again.
	e.open(0, ungrouped)
	e.layer(inv.groupOf[ungrouped])
	e.open(1, "hosts")
	for _, h := range inv.hosts {
		e.host(h)
	}
	// Then the groups in their order, without children: naming a child would
	// bring it forward.
	for _, g := range inv.groups {
		if g.Name != ungrouped && g.Name != allGroup {
			e.open(0, g.Name)
			e.layer(g)
			e.hosts(g)
		}
	}
	all := inv.groupOf[allGroup]
	e.open(0, allGroup)
	e.layer(all)
	e.hosts(all)
	e.children(1, all, map[*Group]bool{})
	return e.Bytes()
}

type encoder struct{ flowWriter }

// open writes a name whose value follows on deeper lines, or is null.
func (e *encoder) open(indent int, name string) {
	e.WriteString(strings.Repeat("  ", indent) + quoteFlow(name) + ":\n")
}

// host writes a host with all that is below it, on one line.
func (e *encoder) host(h *Host) {
	e.WriteString("    " + quoteFlow(h.Name) + ": {")
	vars := mergePairs(h.said.vars)
	e.Entries(vars, e.Value)
	if connect := mergePairs(h.said.connects); len(connect) > 0 {
		e.Separate(len(vars))
		e.connect(connect)
	}
	e.WriteString("}\n")
}

// connect writes the map with its values as text, since text is what they are
// read as: 0x10 is the user 0x10.
func (e *encoder) connect(pairs []yamlpos.Pair) {
	e.WriteString(`"connect": {`)
	e.Entries(pairs, e.Text)
	e.WriteString("}")
}

func (e *encoder) hosts(g *Group) {
	if len(g.hosts) > 0 {
		e.open(1, "hosts")
	}
	for _, h := range g.hosts {
		e.open(2, h.Name)
	}
}

// layer writes vars and connect of a group.
func (e *encoder) layer(g *Group) {
	vars := mergePairs(g.said.vars)
	if g.Priority != 1 {
		vars = append(vars, yamlpos.Pair{Key: yamlpos.TextFrom("", priorityKey), Value: &yamlpos.Node{Value: int64(g.Priority)}})
	}
	if len(vars) > 0 {
		e.WriteString(`  "vars": {`)
		e.Entries(vars, e.Value)
		e.WriteString("}\n")
	}
	if connect := mergePairs(g.said.connects); len(connect) > 0 {
		e.WriteString("  ")
		e.connect(connect)
		e.WriteString("\n")
	}
}

// children writes the graph below g. Below a group that was written before
// there is nothing to add.
func (e *encoder) children(indent int, g *Group, written map[*Group]bool) {
	if written[g] || len(g.Children) == 0 {
		return
	}
	written[g] = true
	e.open(indent, "children")
	for _, child := range g.Children {
		e.open(indent+1, child.Name)
		e.children(indent+2, child, written)
	}
}
