package listing

import (
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/ansible"
)

// List prints groups and hosts as ansible-inventory --list does, with export as it
// does with --export: variables stand at the group or host they are set for. Of the
// hosts only some may be asked for; the groups are all there. withheld says whether
// there are passwords.
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

// HostVars prints the variables of a host as ansible-inventory --host does. withheld
// says whether it has passwords.
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

// ownHosts names those of the wanted hosts that a group lists itself. Of all,
// which holds every host, Ansible lists none.
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
