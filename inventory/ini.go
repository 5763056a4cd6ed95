package inventory

import (
	"github.com/ccm-push/ccm-push/inventory/ansible"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// ini takes an inventory in Ansible's INI format.
func (b *builder) ini(file string, data []byte) {
	r := iniReader{builder: b, group: b.group(ungrouped, nil), pending: map[string]*pendingGroup{}}
	for line, err := range ansible.INILines(file, data) {
		if err != nil {
			b.errs.Add(err)
			continue
		}
		r.line(line)
	}
	for _, name := range r.waiting {
		if p := r.pending[name]; p != nil {
			b.errs.Add(p.at.Errorf("write ["+name+"] somewhere", "unknown group %s", name))
		}
	}
}

// An iniReader takes a file line by line.
type iniReader struct {
	*builder
	group   *Group // group of the section
	pending map[string]*pendingGroup
	waiting []string // the names of all groups that were ever pending, in order
}

// A pendingGroup has been named and has no section yet. As in Ansible, groups are in the
// order of their sections.
type pendingGroup struct {
	at      *yamlpos.Node // where it is first named
	parents []edgeAt
}

// An edgeAt is a parent, and where the child is named as one of its children.
type edgeAt struct {
	parent *Group
	at     *yamlpos.Node
}

func (r *iniReader) line(l ansible.INILine) {
	switch l.Kind {
	case ansible.HostsSection, ansible.ChildrenSection, ansible.VarsSection:
		r.section(l)
	case ansible.ChildLine:
		r.child(l.Name)
	case ansible.VarLine:
		r.groupVars(r.group, l.Vars, connectNowhere)
	case ansible.HostLine:
		if l.Cut != nil {
			r.notes.add(l.Cut, "a comment begins within a word, as in Ansible; quote a value that holds #")
		}
		r.hosts(r.group, l.Name, l.Vars)
	}
}

func (r *iniReader) section(l ansible.INILine) {
	name := l.Name.Text
	known := r.inv.groupOf[name] != nil
	r.group = r.builder.group(name, l.Name)
	switch waiting := r.pending[name]; {
	case l.Kind == ansible.VarsSection && !known:
		r.await(l.Name)
	case l.Kind != ansible.VarsSection && waiting != nil:
		delete(r.pending, name)
		for _, e := range waiting.parents {
			r.link(e.parent, r.group, e.at)
		}
	}
}

// await notes a group that needs a section of its own.
func (r *iniReader) await(key *yamlpos.Node) *pendingGroup {
	p := r.pending[key.Text]
	if p == nil {
		p = &pendingGroup{at: key}
		r.pending[key.Text] = p
		r.waiting = append(r.waiting, key.Text)
	}
	return p
}

func (r *iniReader) child(key *yamlpos.Node) {
	if child := r.inv.groupOf[key.Text]; child != nil {
		r.link(r.group, child, key)
		return
	}
	p := r.await(key)
	p.parents = append(p.parents, edgeAt{r.group, key})
}
