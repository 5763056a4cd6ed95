package listing

import (
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/ansible"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Withheld stands in the place of a password.
const Withheld = "(secret)"

// variables are those of an inventory.
type variables struct {
	layers   map[string][]inventory.Layer // those of groups and hosts, under "group NAME" and "host NAME"
	withheld bool                         // a password has been met
}

func variablesOf(inv *inventory.Inventory) *variables {
	v := &variables{layers: map[string][]inventory.Layer{}}
	for _, l := range inv.Layers() {
		v.layers[l.Name] = append(v.layers[l.Name], l)
	}
	return v
}

// own gives the variables that a group or a host sets itself, by its name as a layer.
func (v *variables) own(name string) ansible.Object { return merged(v.layers[name]) }

// group gives the variables of a group, with its priority, which Ansible shows as one.
func (v *variables) group(g *inventory.Group) ansible.Object {
	vars := v.own("group " + g.Name)
	if g.Priority != 1 {
		vars["ansible_group_priority"] = yamlpos.From(&yamlpos.Node{}, g.Priority)
	}
	return vars
}

// host gives the variables of a host, with those of its groups. [Withheld] stands for its
// passwords, which are not among the variables of an inventory.
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

// merged gives the variables that layers come to.
func merged(layers []inventory.Layer) ansible.Object {
	vars := ansible.Object{}
	for name, value := range inventory.MergeLayers(layers) {
		vars[name] = value
	}
	return vars
}
