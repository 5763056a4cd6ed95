package listing

import (
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/printable"
)

// A Tree is groups with the hosts in them. Lists are whole; the folded forms next to
// them are for people, and are patterns.
type Tree struct {
	Sources []string    `json:"sources"`
	Hosts   []string    `json:"hosts"`
	Folded  string      `json:"folded"`
	Groups  []TreeGroup `json:"groups"`

	text string
}

// A TreeGroup is one group. Hosts lists its hosts and the hosts of its child groups.
type TreeGroup struct {
	Name     string   `json:"name"`
	Children []string `json:"children"`
	Priority int      `json:"priority"`
	Depth    int      `json:"depth"`
	Hosts    []string `json:"hosts"`
	Folded   string   `json:"folded"`
}

// TreeOf returns the groups of some hosts. If hosts are all hosts of the inventory, it returns every group, including
// empty ones. sources are the inventories that were read.
func TreeOf(inv *inventory.Inventory, hosts []*inventory.Host, sources []string) Tree {
	w := &treeWriter{wanted: make(map[*inventory.Host]bool, len(hosts)), some: len(hosts) < len(inv.Hosts()), written: map[*inventory.Group]bool{}}
	for _, h := range hosts {
		w.wanted[h] = true
	}
	names := Names(hosts)
	t := Tree{Sources: sources, Hosts: names, Folded: pattern.Fold(names), Groups: []TreeGroup{}}
	for _, g := range inv.Groups() {
		if w.shows(g) {
			t.Groups = append(t.Groups, w.node(g))
		}
	}
	fmt.Fprintf(w, "%s in %s, from %s\n", counted(len(hosts), "host"), counted(len(t.Groups), "group"), printable.Line(strings.Join(sources, " ")))
	w.group(inv.Group("all"), 0)
	t.text = w.String()
	return t
}

// String returns the tree on indented lines.
func (t Tree) String() string { return t.text }

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Names returns the names of hosts, in their order.
func Names(hosts []*inventory.Host) []string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	return names
}

// A treeWriter writes groups with the hosts they list themselves, folded. A group in
// several others is written out once.
type treeWriter struct {
	strings.Builder
	wanted  map[*inventory.Host]bool
	some    bool // only some hosts are wanted: groups without a wanted host are skipped
	written map[*inventory.Group]bool
}

func (t *treeWriter) shows(g *inventory.Group) bool { return !t.some || len(t.members(g.Hosts())) > 0 }

func (t *treeWriter) members(hosts []*inventory.Host) []string {
	names := []string{}
	for _, h := range hosts {
		if t.wanted[h] {
			names = append(names, h.Name)
		}
	}
	return names
}

func (t *treeWriter) node(g *inventory.Group) TreeGroup {
	in := t.members(g.Hosts())
	node := TreeGroup{Name: g.Name, Children: []string{}, Priority: g.Priority, Depth: g.Depth, Hosts: in, Folded: pattern.Fold(in)}
	for _, child := range g.Children {
		node.Children = append(node.Children, child.Name)
	}
	return node
}

func (t *treeWriter) group(g *inventory.Group, depth int) {
	if !t.shows(g) {
		return
	}
	all := g.Hosts()
	count := fmt.Sprint(len(all))
	if in := t.members(all); len(in) < len(all) {
		count = fmt.Sprintf("%d of %d", len(in), len(all))
	}
	fmt.Fprintf(t, "%s%s (%s)", strings.Repeat("  ", depth), g.Name, count)
	if t.written[g] && len(g.Children) > 0 {
		t.WriteString(": see above\n")
		return
	}
	t.written[g] = true
	if own := ownHosts(g, t.wanted); len(own) > 0 {
		t.WriteString(": " + pattern.Fold(own))
	}
	t.WriteByte('\n')
	for _, child := range g.Children {
		t.group(child, depth+1)
	}
}
