package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/source"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A builder builds an inventory from files. It continues after errors, so that all of them are reported.
type builder struct {
	inv    *Inventory
	edges  map[edge]*yamlpos.Node // where a group is first named as the child of another
	errs   yamlpos.Errors
	listed int // hosts named so far, repetitions counted
	notes  notes

	connections connection.Reader
	folders     source.VarsFolders // low to high
	fileFolders int                // how many folders the files of variables are from
}

type edge struct{ parent, child *Group }

func newBuilder(o Options) *builder {
	b := &builder{
		inv:   &Inventory{hostOf: map[string]*Host{}, groupOf: map[string]*Group{}, options: o},
		edges: map[edge]*yamlpos.Node{},
	}
	b.connections = connection.Reader{
		Errs: &b.errs, Known: []string{priorityKey}, Ignored: b.notes.ignore, Misspelt: b.notes.nearMiss,
	}
	b.link(b.group(allGroup, nil), b.group(ungrouped, nil), nil)
	return b
}

// document takes a whole file: a map of groups.
func (b *builder) document(n *yamlpos.Node) {
	if n.Kind != yamlpos.Map {
		b.errs.Add(n.Errorf(emptyHint, "an inventory is a map of groups, not %s", n.Describe()))
		return
	}
	if plugin := n.Get("plugin"); plugin != nil {
		b.errs.Add(plugin.Errorf(pluginHint, "inventory plugins are not supported"))
		return
	}
	for _, p := range n.Pairs {
		b.groupBody(p.Key, p.Value)
	}
}

// pluginHint names what does the same: Ansible itself may run its plugin.
const pluginHint = "write a script with the lines #!/bin/sh and exec ansible-inventory -i THIS-FILE --list, and pass -i SCRIPT"

// group finds a group or makes it. at is where it is named.
func (b *builder) group(name string, at *yamlpos.Node) *Group {
	g := b.inv.groupOf[name]
	if g == nil {
		g = &Group{Name: name, Priority: 1, first: at, index: len(b.inv.groups)}
		b.inv.groupOf[name] = g
		b.inv.groups = append(b.inv.groups, g)
	}
	return g
}

// groupKeys are the keys that a group may have.
var groupKeys = []string{"hosts", "children", "vars", "connect"}

// groupBody reads a group and its body. It returns nil if the name is not allowed.
func (b *builder) groupBody(key, body *yamlpos.Node) *Group {
	if err := pattern.CheckGroupName(key); err != nil {
		b.errs.Add(err)
		return nil
	}
	g := b.group(key.Text, key)
	if body.IsNull() {
		return g
	}
	if body.Kind != yamlpos.Map {
		b.errs.Add(body.Errorf("write hosts:, children:, vars: or connect: below it", "the group %q must be a map, not %s", key.Text, body.Describe()))
		return g
	}
	for _, p := range body.Pairs {
		b.section(g, p.Key, p.Value)
	}
	return g
}

func (b *builder) section(g *Group, key, value *yamlpos.Node) {
	switch key.Text {
	case "hosts":
		for _, p := range b.members(key, value) {
			b.hosts(g, p.Key, p.Value)
		}
	case "children":
		for _, p := range b.members(key, value) {
			if child := b.groupBody(p.Key, p.Value); child != nil {
				b.link(g, child, p.Key)
			}
		}
	case "vars":
		if b.isMap(key.Text, value) {
			b.groupVars(g, value, connectBesideVars)
		}
	case "connect":
		if b.isMap(key.Text, value) {
			b.connect(&g.said, value)
		}
	default:
		b.errs.Add(unknownSection(key))
	}
}

func unknownSection(key *yamlpos.Node) error {
	if meant := yamlpos.Suggest(key.Text, groupKeys); meant != "" {
		return key.Errorf("", "unknown key %q (did you mean %q?)", key.Text, meant)
	}
	return key.Errorf(`a group has the keys "hosts", "children", "vars" and "connect"; variables go under vars:, groups under children:`, "unknown key %q", key.Text)
}

// members reads the value of hosts: or children:, a map, or one name as text.
func (b *builder) members(key, n *yamlpos.Node) []yamlpos.Pair {
	switch {
	case n.IsNull():
		return nil
	case n.Kind == yamlpos.Map:
		return n.Pairs
	case n.Kind == yamlpos.Scalar:
		return []yamlpos.Pair{{Key: n}}
	}
	b.errs.Add(n.Errorf("use a mapping: each name on a line of its own, followed by a colon", "%q must be a map, not a list", key.Text))
	return nil
}

// isMap reports whether n is a map. Anything but a map or null is an error.
func (b *builder) isMap(name string, n *yamlpos.Node) bool {
	if n.Kind != yamlpos.Map && !n.IsNull() {
		b.errs.Add(n.Errorf("write a map, such as key: value", "%q must be a map, not %s", name, n.Describe()))
	}
	return n.Kind == yamlpos.Map
}

// maxHosts bounds the hosts that an inventory lists, repetitions counted.
const maxHosts = pattern.MaxNames

// hosts reads one key below hosts:. If the key is a range, every host of the range gets its body.
func (b *builder) hosts(g *Group, key, body *yamlpos.Node) {
	hosts, port, err := hostNames(key)
	if err != nil {
		b.errs.Add(err)
		return
	}
	if b.listed += len(hosts); b.listed > maxHosts {
		b.errs.Add(key.Errorf("", "more than %d hosts are listed", maxHosts))
		return
	}
	said := b.hostBody(key, port, body)
	for _, name := range hosts {
		h := b.host(name, key)
		h.said.add(said)
		b.member(g, h)
	}
}

// member puts a host into a group, once.
func (b *builder) member(g *Group, h *Host) {
	if !slices.Contains(h.direct, g) {
		h.direct = append(h.direct, g)
		g.hosts = append(g.hosts, h)
	}
}

func (b *builder) host(name string, at *yamlpos.Node) *Host {
	h := b.inv.hostOf[name]
	if h == nil {
		h = &Host{Name: name, first: at, index: len(b.inv.hosts)}
		b.inv.hostOf[name] = h
		b.inv.hosts = append(b.inv.hosts, h)
	}
	return h
}

// hostNames reads a host key: a name or address, with optional ranges and an optional port.
func hostNames(key *yamlpos.Node) (hosts []string, port *yamlpos.Node, err error) {
	if err := pattern.CheckNameIsText(key, "host"); err != nil {
		return nil, nil, err
	}
	text, digits := pattern.SplitPort(key.Text)
	if digits != "" {
		number, err := connection.ParsePort("port", digits)
		if err != nil {
			return nil, nil, key.Errorf("", "host %q: %s", key.Text, err)
		}
		port = portVar(key, number)
	}
	hosts, err = pattern.ExpandRanges(text, pattern.HostRange)
	if e, ok := errors.AsType[*pattern.TermError](err); ok {
		return nil, nil, key.Errorf(e.Hint, "host %q: %s", key.Text, e.Msg)
	}
	for _, name := range hosts {
		if err := pattern.CheckHostName(key, name); err != nil {
			return nil, nil, err
		}
	}
	return hosts, port, nil
}

// portVar makes a port in a host key the variable ansible_port, as Ansible does.
func portVar(key *yamlpos.Node, port int) *yamlpos.Node {
	return yamlpos.From(key, map[string]any{"ansible_port": port})
}

// link makes child a child of parent, once.
func (b *builder) link(parent, child *Group, at *yamlpos.Node) {
	if _, known := b.edges[edge{parent, child}]; known {
		return
	}
	b.edges[edge{parent, child}] = at
	parent.Children = append(parent.Children, child)
	child.parents = append(child.parents, parent)
}

// finish sorts the graph. If there were errors, it returns all of them instead.
func (b *builder) finish() (*Inventory, error) {
	b.nameClashes()
	for _, g := range b.inv.groups {
		if g.Name != allGroup && len(g.parents) == 0 {
			b.link(b.inv.groupOf[allGroup], g, g.first)
		}
	}
	b.cycles()
	if err := b.errs.Err(); err != nil {
		return nil, err
	}
	setDepths(b.inv.groups)
	b.collectUngrouped()
	b.implicitLocalhost()
	b.varFiles()
	return b.order()
}

// order sorts hosts and groups, after all of them are known.
func (b *builder) order() (*Inventory, error) {
	b.setMergeOrder()
	if err := b.errs.Err(); err != nil {
		return nil, err
	}
	b.inv.order = b.inv.groupOf[allGroup].Hosts()
	b.inv.warnings = b.notes.list()
	return b.inv, nil
}

func (b *builder) nameClashes() {
	for _, h := range b.inv.hosts {
		g := b.inv.groupOf[h.Name]
		if g == nil {
			continue
		}
		where := "a group that always exists"
		if g.first != nil {
			where = fmt.Sprintf("a group at %s", g.first.Pos())
		}
		if b.inv.options.AllowNameClash {
			b.notes.add(h.first, "%q is a host and %s: a pattern means the host", h.Name, where)
			continue
		}
		b.errs.Add(h.first.Errorf("rename one of the two: in a pattern, the name would be ambiguous", "%q is a host and %s", h.Name, where))
	}
}

// notes collects findings that deserve a warning.
type notes struct {
	warnings []string
	ignored  []string      // ansible_ variables that have no meaning here
	at       *yamlpos.Node // position of the first
}

func (n *notes) list() []string {
	if n.at == nil {
		return n.warnings
	}
	slices.Sort(n.ignored)
	names := strings.Join(slices.Compact(n.ignored), ", ")
	return append(n.warnings, fmt.Sprintf("%s: ignored, as no host needs Python or a setting of its shell: %s", n.at.Pos(), names))
}

func (n *notes) add(at *yamlpos.Node, format string, args ...any) {
	n.warnings = append(n.warnings, at.Pos()+": "+fmt.Sprintf(format, args...))
}

func (n *notes) ignore(key *yamlpos.Node) {
	if n.at == nil {
		n.at = key
	}
	n.ignored = append(n.ignored, key.Text)
}

// nearMiss warns of a variable that was probably meant to be one of ours.
func (n *notes) nearMiss(key *yamlpos.Node, meant string) {
	n.add(key, "%q is an ordinary variable (did you mean %q?)", key.Text, meant)
}
