package inventory

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// metaKey is the key beside the groups that has the variables of hosts.
const metaKey = "_meta"

// scriptKeys is what may stand below a group.
var scriptKeys = []string{"hosts", "children", "vars"}

// scriptGroups takes the groups that a script prints, and gives the hosts in
// them, each where it is first named.
func (b *builder) scriptGroups(list *yamlpos.Node) []*yamlpos.Node {
	var hosts []*yamlpos.Node
	seen := map[string]bool{}
	for _, p := range list.Pairs {
		if p.Key.Text == metaKey {
			continue
		}
		for _, key := range b.scriptGroup(p.Key, p.Value) {
			if !seen[key.Text] {
				seen[key.Text] = true
				hosts = append(hosts, key)
			}
		}
	}
	return hosts
}

// scriptGroup takes one group: a map with hosts, children and vars, or a list of
// hosts, or, as in old scripts, the variables of the one host that has its name.
func (b *builder) scriptGroup(key, body *yamlpos.Node) (hosts []*yamlpos.Node) {
	if err := checkGroupName(key); err != nil {
		b.errs.Add(err)
		return nil
	}
	g := b.group(key.Text, key)
	switch {
	case isNull(body):
		return nil
	case body.Kind == yamlpos.List:
		return b.scriptHosts(g, body)
	case body.Kind != yamlpos.Map:
		b.errs.Add(body.Errorf("", "group %s must be a map or a list of hosts, not %s", key.Text, body.Describe()))
		return nil
	case len(body.Pairs) > 0 && !slices.ContainsFunc(scriptKeys, func(k string) bool { return body.Get(k) != nil }):
		b.groupVars(g, body, connectNowhere)
		return b.scriptHosts(g, &yamlpos.Node{Kind: yamlpos.List, Items: []*yamlpos.Node{key}})
	}
	for _, p := range body.Pairs {
		switch p.Key.Text {
		case "hosts":
			hosts = b.scriptHosts(g, p.Value)
		case "children":
			b.scriptChildren(g, p.Key, p.Value)
		case "vars":
			if b.isMap("vars", p.Value) {
				b.groupVars(g, p.Value, connectNowhere)
			}
		default:
			b.errs.Add(p.Key.Errorf("below a group stand hosts, children and vars", "unknown key %q", p.Key.Text))
		}
	}
	return hosts
}

func (b *builder) scriptChildren(g *Group, key, n *yamlpos.Node) {
	for _, child := range b.names(key, n) {
		if err := checkGroupName(child); err != nil {
			b.errs.Add(err)
			continue
		}
		b.link(g, b.group(child.Text, child), child)
	}
}

// scriptHosts takes a list of names, which are not expanded.
func (b *builder) scriptHosts(g *Group, n *yamlpos.Node) (hosts []*yamlpos.Node) {
	for _, key := range b.names(textNode("", "hosts"), n) {
		if err := checkKey(key, "host"); err != nil {
			b.errs.Add(err)
			continue
		}
		if err := checkHostName(key, key.Text); err != nil {
			b.errs.Add(err)
			continue
		}
		if b.listed++; b.listed > maxHosts {
			b.errs.Add(key.Errorf("", "more than %d hosts are listed", maxHosts))
			return nil
		}
		b.member(g, b.host(key.Text, key))
		hosts = append(hosts, key)
	}
	return hosts
}

// names gives the items of a list of names.
func (b *builder) names(key, n *yamlpos.Node) []*yamlpos.Node {
	if isNull(n) {
		return nil
	}
	if n.Kind != yamlpos.List {
		b.errs.Add(n.Errorf("", "%s must be a list of names, not %s", key.Text, n.Describe()))
		return nil
	}
	var names []*yamlpos.Node
	for _, item := range n.Items {
		if item.Kind != yamlpos.Scalar {
			b.errs.Add(item.Errorf("", "%s must be a list of names: %s is none", key.Text, item.Describe()))
			continue
		}
		names = append(names, item)
	}
	return names
}

// hostVarsOf takes the variables of the hosts that were listed.
func (b *builder) hostVarsOf(listed []*yamlpos.Node, hostvars *yamlpos.Node) {
	if !b.isMap("hostvars", hostvars) {
		return
	}
	of := make(map[string]*yamlpos.Node, len(hostvars.Pairs))
	for _, p := range hostvars.Pairs {
		of[p.Key.Text] = p.Value
	}
	for _, key := range listed {
		if body := of[key.Text]; body != nil {
			b.scriptHostVars(key, body)
			delete(of, key.Text)
		}
	}
	for _, p := range hostvars.Pairs {
		if of[p.Key.Text] != nil {
			b.notes.add(p.Key, "_meta.hostvars has hosts that are in no group, %d of them, and they are left out; the first is %q", len(of), p.Key.Text)
			return
		}
	}
}

func (b *builder) scriptHostVars(key, body *yamlpos.Node) {
	b.host(key.Text, key).layer.add(b.hostLayer(key, nil, body))
}
