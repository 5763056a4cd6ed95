package inventory

import (
	"fmt"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Part is a subset of an inventory's hosts for another machine, as JSON: the content of these hosts and of the groups
// around them, including passwords and opened secrets, and nothing about other hosts. Positions stay those in the
// operator's files.
type Part struct {
	Hosts     []partHost  `json:"hosts"`
	Groups    []partGroup `json:"groups"` // groups of the hosts, and the groups around them
	MergeMaps bool        `json:"merge_maps,omitempty"`
	Folders   int         `json:"folders,omitempty"` // number of folders that files of variables are from
}

type partHost struct {
	Name   string     `json:"name"`
	At     position   `json:"at"`
	Groups []string   `json:"groups"` // groups that list it
	Said   []partMap  `json:"said,omitempty"`
	Files  []partFile `json:"files,omitempty"`
}

type partGroup struct {
	Name     string     `json:"name"`
	At       *position  `json:"at,omitempty"`
	Children []string   `json:"children,omitempty"` // only groups of the part
	Priority int        `json:"priority"`
	Said     []partMap  `json:"said,omitempty"`
	Files    []partFile `json:"files,omitempty"`
}

// A partMap is a map of variables, or one below connect:.
type partMap struct {
	Connect bool             `json:"connect,omitempty"`
	Map     yamlpos.Portable `json:"map"`
}

// A partFile is a file of group_vars or host_vars.
type partFile struct {
	Folder int       `json:"folder"`
	Said   []partMap `json:"said"`
}

// A position is the position of a name in the files.
type position struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

func (p position) node(text string) *yamlpos.Node {
	return &yamlpos.Node{File: p.File, Line: p.Line, Column: p.Column, Text: text, Value: text}
}

func positionOf(n *yamlpos.Node) position { return position{n.File, n.Line, n.Column} }

// Part returns the part with some hosts. login, which may be nil, returns the user that logs in to a host and overrides
// the inventory.
func (inv *Inventory) Part(hosts []*Host, login func(*Host) string) Part {
	p := Part{MergeMaps: inv.options.MergeMaps}
	in := map[*Group]bool{}
	for _, h := range hosts {
		one := partHost{Name: h.Name, At: positionOf(h.first), Said: mapsOf(h.said), Files: p.files(h.files)}
		for _, g := range h.direct {
			one.Groups = append(one.Groups, g.Name)
		}
		for _, g := range h.Groups {
			in[g] = true
		}
		if login != nil {
			who := yamlpos.From(h.first, map[string]any{"user": login(h)})
			one.Files = append(one.Files, partFile{Said: []partMap{{true, yamlpos.Portable{Node: who}}}})
		}
		p.Hosts = append(p.Hosts, one)
	}
	for _, g := range inv.groups {
		if !in[g] {
			continue
		}
		one := partGroup{Name: g.Name, Priority: g.Priority, Said: mapsOf(g.said), Files: p.files(g.files)}
		if g.first != nil {
			at := positionOf(g.first)
			one.At = &at
		}
		for _, child := range g.Children {
			if in[child] {
				one.Children = append(one.Children, child.Name)
			}
		}
		p.Groups = append(p.Groups, one)
	}
	return p
}

func (p *Part) files(files []varFile) (list []partFile) {
	for _, f := range files {
		p.Folders = max(p.Folders, f.folder+1)
		list = append(list, partFile{f.folder, mapsOf(f.said)})
	}
	return list
}

func mapsOf(c content) (list []partMap) {
	for _, m := range c.whole {
		list = append(list, partMap{m.connect, yamlpos.Portable{Node: m.node}})
	}
	return list
}

// maxPartFolders is the largest number of folders of a part.
const maxPartFolders = 10_000

// check returns an error for a part that [Inventory.Part] does not return: another machine has sent it.
func (p Part) check() error {
	groups, hosts := map[string]partGroup{}, map[string]bool{}
	files := func(name string, list []partFile) error {
		for _, f := range list {
			if f.Folder < 0 || f.Folder > p.Folders {
				return fmt.Errorf("%.100q has a file of folder %d of %d", name, f.Folder, p.Folders)
			}
		}
		return nil
	}
	if p.Folders < 0 || p.Folders > maxPartFolders {
		return fmt.Errorf("an inventory has %d folders", p.Folders)
	}
	for _, g := range p.Groups {
		if _, twice := groups[g.Name]; twice || g.Name == "" {
			return fmt.Errorf("an inventory has the group %.100q twice, or without a name", g.Name)
		}
		groups[g.Name] = g
		if err := files(g.Name, g.Files); err != nil {
			return err
		}
	}
	const inProgress, done = 1, 2
	state := map[string]int{} // of each group that was visited
	var visit func(name string) error
	visit = func(name string) error {
		g, known := groups[name]
		switch {
		case !known:
			return fmt.Errorf("an inventory does not have its group %.100q", name)
		case state[name] == inProgress:
			return fmt.Errorf("an inventory has the group %.100q within itself", name)
		case state[name] == done:
			return nil
		}
		state[name] = inProgress
		children := map[string]bool{}
		for _, child := range g.Children {
			if children[child] {
				return fmt.Errorf("an inventory has the group %.100q twice in %.100q", child, name)
			}
			children[child] = true
			if err := visit(child); err != nil {
				return err
			}
		}
		state[name] = done
		return nil
	}
	if len(p.Hosts) > 0 {
		if err := visit(allGroup); err != nil {
			return err
		}
	}
	for _, h := range p.Hosts {
		if hosts[h.Name] || h.Name == "" {
			return fmt.Errorf("an inventory has the host %.100q twice, or without a name", h.Name)
		}
		hosts[h.Name] = true
		in := map[string]bool{}
		for _, g := range h.Groups {
			if state[g] != done || in[g] {
				return fmt.Errorf("the host %.100q has the group %.100q twice, or the group is not in the inventory", h.Name, g)
			}
			in[g] = true
		}
		if len(in) == 0 {
			return fmt.Errorf("the host %.100q has no group", h.Name)
		}
		if err := files(h.Name, h.Files); err != nil {
			return err
		}
	}
	for name := range groups {
		if state[name] != done {
			return fmt.Errorf("an inventory has the group %.100q outside of %s", name, allGroup)
		}
	}
	return nil
}

// Inventory returns the inventory of the hosts of a part. Warnings about the whole inventory are not repeated.
func (p Part) Inventory() (*Inventory, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	b := newBuilder(Options{MergeMaps: p.MergeMaps})
	b.fileFolders = p.Folders
	b.connections.Ignored, b.connections.Misspelt = func(*yamlpos.Node) {}, func(*yamlpos.Node, string) {}
	for _, one := range p.Groups {
		var at *yamlpos.Node
		if one.At != nil {
			at = one.At.node(one.Name)
		}
		g := b.group(one.Name, at)
		g.first, g.Priority, g.said, g.files = at, one.Priority, b.saidIn(one.Said), b.filesIn(one.Files)
	}
	for _, one := range p.Groups {
		for _, child := range one.Children {
			b.link(b.group(one.Name, nil), b.group(child, nil), nil)
		}
	}
	for _, one := range p.Hosts {
		h := b.host(one.Name, one.At.node(one.Name))
		h.said, h.files = b.saidIn(one.Said), b.filesIn(one.Files)
		for _, group := range one.Groups {
			b.member(b.group(group, nil), h)
		}
	}
	if err := b.errs.Err(); err != nil {
		return nil, err
	}
	setDepths(b.inv.groups)
	return b.order()
}

func (b *builder) saidIn(maps []partMap) (said content) {
	for _, m := range maps {
		switch {
		case m.Map.Node == nil:
		case m.Connect:
			b.connect(&said, m.Map.Node)
		default:
			b.variables(&said, m.Map.Node)
		}
	}
	return said
}

func (b *builder) filesIn(files []partFile) (list []varFile) {
	for _, f := range files {
		list = append(list, varFile{f.Folder, b.saidIn(f.Said)})
	}
	return list
}
