package fromansible

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/output"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// writePlays writes the manifest of a playbook.
func (c *converter) writePlays(file string, plays []*play) {
	c.written[file] = plays
	out := yamlnode.List()
	for i, p := range plays {
		n := yamlnode.Map()
		add := func(key string, v *yaml.Node) { n.Content = append(n.Content, yamlnode.Text(key), v) }
		if p.name != "" {
			add("name", yamlnode.Text(strings.NewReplacer("{{ ", "", " }}", "").Replace(p.name)))
		}
		if p.hosts != nil {
			add("hosts", p.hosts)
		}
		for _, k := range p.keys {
			add(k.Key, k.Value)
		}
		if p.include != "" {
			add("include", yamlnode.Text(p.include))
			out.Content = append(out.Content, n)
			continue
		}
		if !hasResources(p.entries) {
			c.out.Report.Note(file, 0, "the play "+p.name+" has no resources, and is not written")
			continue
		}
		data, files, asks := c.dataOfPlay(p, file, i)
		c.misread(p)
		if p.over != nil {
			p.entries = []*layout.Entry{{Block: p.entries, Props: []layout.Property{{Key: "vars", Value: p.over}}}}
		}
		if len(files) > 0 {
			add("vars_files", layout.Flowed(yamlnode.Texts(files...)))
		}
		if data != nil && len(data.Content) > 0 {
			add("data", data)
		}
		if asks != nil {
			add("facts", asks)
		}
		add("ccm", c.layout.CCM(p.entries))
		out.Content = append(out.Content, n)
	}
	if len(out.Content) > 0 {
		c.out.SaveYAML(file, out)
	}
}

// dataOfPlay gives the data of a play: what its roles have by default, what it says itself,
// and over these what is not to be changed. Files go over data here, so what the play says of
// variables that files have too stands in a file behind them.
func (c *converter) dataOfPlay(p *play, file string, index int) (data *yaml.Node, files []string, asks *yaml.Node) {
	known := map[string]bool{}
	var late []string
	c.conflicts(p)
	for _, r := range p.allRoles() {
		for _, name := range slices.Sorted(maps.Keys(r.Data)) {
			known[name] = true
			if n := r.Data[name]; n != nil && r.Vars[name] {
				c.overrides(p, r, name, n)
			}
		}
		for _, f := range r.Files {
			if strings.HasPrefix(filepath.Base(f), "defaults") {
				files = append(files, f)
			} else {
				late = append(late, f)
			}
		}
	}
	if p.tasks != nil {
		late = append(late, p.tasks.Files...) // of include_vars
		for _, name := range slices.Sorted(maps.Keys(p.tasks.Data)) {
			if n := p.tasks.Data[name]; n != nil && p.tasks.Vars[name] {
				c.overrides(p, p.tasks, name, n)
			}
		}
	}
	data = yamlnode.Map()
	over := yamlnode.Map()
	from := c.newRole("", c.out.Root, "").File(filepath.Join(c.out.Root, file))
	for _, vars := range []*yaml.Node{p.vars, p.seen()} {
		if vars == nil {
			continue
		}
		for i := 0; i+1 < len(vars.Content); i += 2 {
			to := data
			if known[vars.Content[i].Value] {
				to = over
			}
			key := *vars.Content[i]
			key.Anchor = ""
			to.Content = append(to.Content, &key, from.DataValue(vars.Content[i+1]))
			c.overrides(p, p.tasks, key.Value, vars.Content[i+1])
		}
	}
	for _, f := range p.facts {
		if old := yamlnode.Get(data, f.Key); old != nil { // which what is set begins with
			*old = *f.Value
			continue
		}
		data.Content = append(data.Content, yamlnode.Text(f.Key), f.Value)
	}
	c.fromEarlier(p, file)
	if len(over.Content) > 0 {
		name := "vars/" + file
		if index > 0 {
			name = "vars/" + strings.TrimSuffix(file, ".yaml") + fmt.Sprintf("-%d.yaml", index+1)
		}
		c.out.SaveYAML(name, over)
		files = append(files, name)
	}
	return data, append(append(files, p.files...), late...), asked(p, from.Role)
}

// fromEarlier sets the variables that tasks of earlier plays have set, if this play reads them.
func (c *converter) fromEarlier(p *play, file string) {
	last := map[string]factOfPlay{}
	for _, f := range p.earlier {
		last[f.name] = f
	}
	units := append(p.allRoles(), p.tasks)
	set := &layout.Entry{Type: "set", Name: "values of earlier plays"}
	data := yamlnode.Map()
	for _, name := range slices.Sorted(maps.Keys(last)) {
		f := last[name]
		used := expression.WordIn(p.source, name) || slices.ContainsFunc(p.allRoles(), func(u *unit) bool { return u.mentions(name) })
		again := slices.ContainsFunc(units, func(u *unit) bool { _, sets := u.sets[name]; return sets })
		switch {
		case !used || again:
		case f.value == nil || yamlnode.HasJinja(f.value) || f.hosts != p.hosts.Value:
			why := fmt.Sprintf("the play at %s sets the variable %s for its hosts", f.play, name)
			p.entries = append([]*layout.Entry{layout.Todo(file, why, nil)}, p.entries...)
			c.out.Report.Leave(file, 0, "set_fact", why)
		default:
			data.Content = append(data.Content, yamlnode.Text(name), f.value)
		}
	}
	if len(data.Content) > 0 {
		set.Set("data", data)
		p.entries = append([]*layout.Entry{set}, p.entries...)
	}
}

// seen returns the vars of roles that other parts of the play read. Ansible has one value of these for the whole play,
// except for the tasks of the role.
func (p *play) seen() *yaml.Node {
	out := yamlnode.Map()
	for i, vars := range p.shared {
		owner, uses := p.sharedBy[i], 0
		for _, r := range p.roles {
			if r == owner {
				uses++
			}
		}
		for k := 0; k+1 < len(vars.Content); k += 2 {
			name := vars.Content[k].Value
			read := uses > 1 || slices.ContainsFunc(p.roles, func(r *unit) bool { return r != owner && r.mentions(name) }) ||
				slices.ContainsFunc(p.parts, func(text string) bool { return expression.WordIn(text, name) })
			if old := yamlnode.Get(out, name); read && old != nil {
				*old = *vars.Content[k+1] // the last role decides
			} else if read {
				value := *vars.Content[k+1]
				out.Content = append(out.Content, vars.Content[k], &value)
			}
		}
	}
	return out
}

// overrides makes a variable of a play, or of vars of a role, override the inventory, as in Ansible: it becomes a variable of
// a block around all of the play.
func (c *converter) overrides(p *play, u *unit, name string, n *yaml.Node) {
	_, given := c.o.Variables[name]
	if !given && c.beside[name] == nil || yamlnode.Get(p.over, name) != nil {
		return
	}
	if bytes.Contains(yamlnode.Encode(n), []byte("!vault")) {
		p.todoOfData(c.out, u.Dir, n.Line, fmt.Sprintf("the encrypted variable %s, which the inventory has too: here the inventory overrides it", name))
		return
	}
	if p.over == nil {
		p.over = yamlnode.Map()
	}
	c.out.Override(name, expression.KindOfNode(n))
	p.over.Content = append(p.over.Content, yamlnode.Text(name), u.File(u.Dir).DataValue(n))
}

// misread writes a todo for each value of the inventory that Ansible reads in another way, into the first play. Files beside
// the playbooks are copied with the values of Ansible.
func (c *converter) misread(p *play) {
	for _, m := range c.o.Misread {
		if !slices.ContainsFunc(besides, func(name string) bool { return strings.HasPrefix(c.out.Shown(m.File), name+"/") }) {
			p.todoOfData(c.out, m.File, m.Line, m.Message)
		}
	}
	c.o.Misread = nil
}

// todoOfData writes a todo about data before the resources of a play.
func (p *play) todoOfData(out *output.Output, path string, line int, why string) {
	path = out.Shown(path)
	out.Report.Leave(path, line, "variables", why)
	todo := layout.Todo(output.Position(path, line), why, nil)
	todo.Does = layout.Nothing
	p.entries = append([]*layout.Entry{todo}, p.entries...)
}

// conflicts finds variables of which two roles of a play have different values: a role of Ansible sees its own. Defaults
// become data of each role's own manifests, unless another part of the play reads them.
func (c *converter) conflicts(p *play) {
	owner := map[string]*unit{}
	for _, r := range p.allRoles() {
		for _, name := range slices.Sorted(maps.Keys(r.Data)) {
			other := owner[name]
			switch {
			case r.Data[name] == nil:
			case other == nil:
				if owner[name] = r; r.Known.Split[name] && !c.ownDefault(p, name) {
					p.todoOfData(c.out, r.Dir, r.Data[name].Line, fmt.Sprintf("the variable %s, which only the role %s sees here: roles have different defaults of it", name, r.Name))
				}
			case string(yamlnode.Encode(other.Data[name])) == string(yamlnode.Encode(r.Data[name])):
			case c.ownDefault(p, name):
				c.out.Known.Split[name] = true
				c.out.Override(name, expression.KindOfAll([]expression.Kind{expression.KindOfNode(other.Data[name]), expression.KindOfNode(r.Data[name])}))
			default:
				p.todoOfData(c.out, r.Dir, r.Data[name].Line, fmt.Sprintf("the roles %s and %s have different values of the variable %s: give it another name in one of them", other.Name, r.Name, name))
			}
		}
	}
}

// ownDefault reports whether only roles that have a variable as a default read it in a play, and none of them applies
// another role, which would see the value of the first one.
func (c *converter) ownDefault(p *play, name string) bool {
	reads := func(text string) bool { return expression.WordIn(text, name) }
	if slices.ContainsFunc(p.parts, reads) || p.vars != nil && reads(string(yamlnode.Encode(p.vars))) || len(p.files) > 0 {
		return false
	}
	for _, r := range p.allRoles() {
		switch has := r.Data[name] != nil; {
		case has && (r.Vars[name] || len(r.uses) > 0), !has && r.mentions(name):
			return false
		}
	}
	return true
}

// asked are the facts that a play, its roles and its data want to know; nil if there are none.
func asked(p *play, data *role.Role) *yaml.Node {
	all := facts.Queries{}
	for _, u := range append(p.allRoles(), p.tasks) {
		if u != nil {
			maps.Copy(all, u.Asks)
		}
	}
	maps.Copy(all, data.Asks)
	var pairs []any
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var n yaml.Node
		if err := n.Encode(asMap(all[name])); err == nil { // of a map of texts
			n.Style = yaml.FlowStyle
			pairs = append(pairs, name, &n)
		}
	}
	if pairs == nil {
		return nil
	}
	return yamlnode.Map(pairs...)
}

// asMap is a query as it is written.
func asMap(q facts.Query) map[string]string {
	all := map[string]string{"stat": q.Stat, "package": q.Package, "service": q.Service, "getent": q.Getent, "command": q.Command}
	maps.DeleteFunc(all, func(_, v string) bool { return v == "" })
	return all
}
