package listing

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/ansible"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// List prints groups and hosts like ansible-inventory --list. With export it prints them like --export: variables are
// listed at the group or host that sets them. hosts may be a subset of the hosts; all groups are printed. withheld
// reports whether there are passwords.
func List(inv *inventory.Inventory, hosts []*inventory.Host, export bool) (text string, withheld bool) {
	v := variablesOf(inv)
	wanted := make(map[*inventory.Host]bool, len(hosts))
	hostvars := ansible.Object{}
	for _, h := range hosts {
		wanted[h] = true
		vars := v.own("host " + h.Name)
		if !export {
			vars = v.host(h)
		}
		if len(vars) > 0 {
			hostvars[h.Name] = vars
		}
	}
	list := ansible.Object{"_meta": ansible.Object{"hostvars": hostvars}}
	for _, g := range inv.Groups() {
		body := listedGroup(g, wanted)
		if vars := v.group(g); export && len(vars) > 0 {
			body["vars"] = vars
		}
		if len(body) > 0 {
			list[g.Name] = body
		}
	}
	return ansible.JSON(list), v.withheld
}

// HostVars prints the variables of a host like ansible-inventory --host. withheld reports whether it has passwords.
func HostVars(h *inventory.Host) (text string, withheld bool) {
	var v variables
	vars := v.host(h)
	return ansible.JSON(vars), v.withheld
}

func listedGroup(g *inventory.Group, wanted map[*inventory.Host]bool) ansible.Object {
	body := ansible.Object{}
	if hosts := ownHosts(g, wanted); len(hosts) > 0 {
		body["hosts"] = hosts
	}
	var children []string
	for _, child := range g.Children {
		children = append(children, child.Name)
	}
	if len(children) > 0 {
		body["children"] = children
	}
	return body
}

// ownHosts names the wanted hosts that a group lists itself. For all, which holds every
// host, Ansible lists none.
func ownHosts(g *inventory.Group, wanted map[*inventory.Host]bool) []string {
	var names []string
	if g.Name == "all" {
		return nil
	}
	for _, h := range g.Own() {
		if wanted[h] {
			names = append(names, h.Name)
		}
	}
	return names
}

// Graph prints a group and its members like ansible-inventory --graph, with vars like --vars. hosts may be a subset of
// the hosts. withheld reports whether the printed values include passwords.
func Graph(inv *inventory.Inventory, top *inventory.Group, hosts []*inventory.Host, vars bool) (text string, withheld bool) {
	w := grapher{wanted: make(map[*inventory.Host]bool, len(hosts))}
	for _, h := range hosts {
		w.wanted[h] = true
	}
	if vars {
		w.vars = variablesOf(inv)
	}
	w.group(top, 0)
	return w.String(), vars && w.vars.withheld
}

// A grapher writes the tree below a group. A group in several others is written
// out in each.
type grapher struct {
	strings.Builder
	vars   *variables // nil: none are written
	wanted map[*inventory.Host]bool
}

func (w *grapher) line(depth int, text string) {
	if depth > 0 {
		text = strings.Repeat("  |", depth) + "--" + text
	}
	w.WriteString(text + "\n")
}

func (w *grapher) group(g *inventory.Group, depth int) {
	w.line(depth, "@"+g.Name+":")
	for _, child := range g.Children {
		w.group(child, depth+1)
	}
	if g.Name != "all" { // which lists every host only through the others
		for _, h := range g.Own() {
			w.host(h, depth+1)
		}
	}
	if w.vars != nil {
		w.variables(w.vars.group(g), depth+1)
	}
}

func (w *grapher) host(h *inventory.Host, depth int) {
	if !w.wanted[h] {
		return
	}
	w.line(depth, h.Name)
	if w.vars != nil {
		w.variables(w.vars.host(h), depth+1)
	}
}

func (w *grapher) variables(vars ansible.Object, depth int) {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		w.line(depth, fmt.Sprintf("{%s = %s}", printable.Line(name), ansible.Str(vars[name].(*yamlpos.Node))))
	}
}

// Withheld is printed instead of a password.
const Withheld = "(secret)"

// secret is printed instead of a value that is marked as secret.
const secret = "[secret]"

// variables are the variables of an inventory.
type variables struct {
	layers   map[string][]inventory.Layer // layers of groups and hosts, under "group NAME" and "host NAME"
	withheld bool                         // a password has been met
}

func variablesOf(inv *inventory.Inventory) *variables {
	v := &variables{layers: map[string][]inventory.Layer{}}
	for _, l := range inv.Layers() {
		v.layers[l.Name] = append(v.layers[l.Name], l)
	}
	return v
}

// own returns the variables that a group or a host sets itself; name is its layer name.
func (v *variables) own(name string) ansible.Object { return merged(v.layers[name]) }

// group returns the variables of a group and its priority, which Ansible shows as a variable.
func (v *variables) group(g *inventory.Group) ansible.Object {
	vars := v.own("group " + g.Name)
	if g.Priority != 1 {
		vars["ansible_group_priority"] = yamlpos.From(&yamlpos.Node{}, g.Priority)
	}
	return vars
}

// host returns the variables of a host, including variables of its groups. The passwords are not in the variables of an
// inventory; [Withheld] is added for each.
func (v *variables) host(h *inventory.Host) ansible.Object {
	vars := merged(h.Layers())
	set := h.Connection().Pos
	for key, name := range map[string]string{"password": "ansible_password", "become_password": "ansible_become_password"} {
		if set[key] != "" {
			vars[name] = yamlpos.From(&yamlpos.Node{}, Withheld)
			v.withheld = true
		}
	}
	return vars
}

// merged returns the merged variables of layers.
func merged(layers []inventory.Layer) ansible.Object {
	vars := ansible.Object{}
	for name, value := range inventory.MergeLayers(layers) {
		vars[name] = value.Shown(secret)
	}
	return vars
}
