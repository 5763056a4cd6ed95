package inventory

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/source"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// metaKey is the key with the variables of hosts, next to the groups.
const metaKey = "_meta"

// scriptKeys are the keys that a group may have.
var scriptKeys = []string{"hosts", "children", "vars"}

// script reads the output of a script. It requests the groups first, and then each host, unless the first answer has
// the variables of all hosts.
func (b *builder) script(ctx context.Context, s source.Script) error {
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	listed := b.scriptGroups(list)
	meta := list.Get(metaKey)
	if meta != nil && meta.Kind == yamlpos.Map && meta.Get("hostvars") != nil {
		b.hostVarsOf(listed, meta.Get("hostvars"))
		return nil
	}
	hosts := make([]string, len(listed))
	for i, key := range listed {
		hosts[i] = key.Text
	}
	for i, answer := range s.Hosts(ctx, hosts) {
		b.errs.Add(answer.Err)
		if answer.Err == nil && answer.Vars != nil {
			b.scriptHostVars(listed[i], answer.Vars)
		}
	}
	return nil
}

// scriptGroups reads the groups that a script prints. It returns their hosts, each at the position where it is first
// named.
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
	if err := pattern.CheckGroupName(key); err != nil {
		b.errs.Add(err)
		return nil
	}
	g := b.group(key.Text, key)
	switch {
	case body.IsNull():
		return nil
	case body.Kind == yamlpos.List:
		return b.scriptHosts(g, body)
	case body.Kind != yamlpos.Map:
		b.errs.Add(body.Errorf("", "the group %q must be a map or a list of hosts, not %s", key.Text, body.Describe()))
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
			b.errs.Add(p.Key.Errorf("a group has the keys hosts, children and vars", "unknown key %q", p.Key.Text))
		}
	}
	return hosts
}

func (b *builder) scriptChildren(g *Group, key, n *yamlpos.Node) {
	for _, child := range b.listedNames(key, n) {
		if err := pattern.CheckGroupName(child); err != nil {
			b.errs.Add(err)
			continue
		}
		b.link(g, b.group(child.Text, child), child)
	}
}

// scriptHosts takes a list of names, which are not expanded.
func (b *builder) scriptHosts(g *Group, n *yamlpos.Node) (hosts []*yamlpos.Node) {
	for _, key := range b.listedNames(yamlpos.TextFrom("", "hosts"), n) {
		if err := pattern.CheckNameIsText(key, "host"); err != nil {
			b.errs.Add(err)
			continue
		}
		if err := pattern.CheckHostName(key, key.Text); err != nil {
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

// listedNames returns the items of a list of names.
func (b *builder) listedNames(key, n *yamlpos.Node) []*yamlpos.Node {
	if n.IsNull() {
		return nil
	}
	if n.Kind != yamlpos.List {
		b.errs.Add(n.Errorf("", "%q must be a list of names, not %s", key.Text, n.Describe()))
		return nil
	}
	var list []*yamlpos.Node
	for _, item := range n.Items {
		if item.Kind != yamlpos.Scalar {
			b.errs.Add(item.Errorf("", "%q must be a list of names, not %s", key.Text, item.Describe()))
			continue
		}
		list = append(list, item)
	}
	return list
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
			b.notes.add(p.Key, "_meta.hostvars has %d hosts that are in no group; they are skipped; the first is %q", len(of), p.Key.Text)
			return
		}
	}
}

func (b *builder) scriptHostVars(key, body *yamlpos.Node) {
	b.host(key.Text, key).said.add(b.hostBody(key, nil, body))
}
