package playbooks

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// Keys of the inventory and the run in expressions: Host.name and so on.
const (
	nameKey   = "name"
	groupsKey = "groups"
	varsKey   = "vars"
	hostsKey  = "hosts"
	idKey     = "id"
	checkKey  = "check"
	userKey   = "user"
)

// inventoryValues are the values of the inventory and the run in the expressions of a play.
type inventoryValues struct {
	of func(host string) *templates.Inventory // nil where there is no inventory

	nats   func(host string) templates.NATS // NATS lookups for a host; returns nil if there are none
	others []*inventory.Host                // hosts whose facts the play reads
	facts  map[string]any                   // facts of the other hosts, set before the first host of the play is compiled
	// unknown has the reason for each host whose facts are missing; then facts has an error in their place.
	unknown map[string]string
}

// inventoryValues returns the values of each play. hosts are the hosts of each play. The inventory's values are built
// once for all plays, if any play uses them.
func (r *Runner) inventoryValues(hosts [][]*inventory.Host) ([]*inventoryValues, error) {
	all := make([]*inventoryValues, len(r.Plays))
	for i := range all {
		all[i] = &inventoryValues{nats: r.snapshot()}
	}
	if r.Inventory == nil {
		for _, values := range all {
			if kept := values.nats(""); kept != nil {
				values.of = func(string) *templates.Inventory { return &templates.Inventory{NATS: kept} }
			}
		}
		return all, nil
	}
	var errs yamlpos.Errors
	groups := templates.NewLazy(func() map[string]any {
		if r.Names != nil {
			return r.Names.groupValues()
		}
		return groupValues(r.Inventory)
	})
	vars := templates.NewLazy(func() map[string]any { return r.Names.withHosts(hostsValues(r.Inventory)) })
	run := templates.NewLazy(r.runValues)
	for i, play := range r.Plays {
		var selected []string
		switch {
		case r.Names != nil && i < len(r.Names.Plays):
			selected = r.Names.Plays[i]
		case i < len(hosts):
			selected = names(hosts[i])
		}
		of := templates.NewLazy(func() map[string]any { return playValues(play, selected) })
		values, with := all[i], vars
		if play.HostFacts != nil {
			if r.Names == nil {
				var err error
				values.others, err = r.otherHosts(play)
				errs.Add(err)
			}
			with = templates.NewLazy(func() map[string]any { return withFacts(vars.Value(), values.facts) })
		}
		values.of = func(name string) *templates.Inventory {
			host := templates.NewLazy(func() map[string]any { return r.hostValues(r.Inventory.Host(name)) })
			return &templates.Inventory{Host: host, Groups: groups, Hosts: with, Play: of, Run: run, NATS: values.nats(name)}
		}
	}
	return all, errs.Err()
}

func (r *Runner) runValues() map[string]any {
	user, _, _ := strings.Cut(r.Options.Holder, "@") // USER@HOST (pid PID)
	return map[string]any{idKey: r.Options.Run, checkKey: r.Options.Check, userKey: user}
}

func playValues(play *manifest.Play, hosts []string) map[string]any {
	return map[string]any{nameKey: play.Name, hostsKey: plainTexts(hosts)}
}

// groupValues are the names of the hosts of each group, in the order of the inventory.
func groupValues(inv *inventory.Inventory) map[string]any {
	groups := map[string]any{}
	for _, g := range inv.Groups() {
		groups[g.Name] = plainTexts(names(g.Hosts()))
	}
	return groups
}

// hostValues returns the name of a host, its groups except all, its variables, and the account that it is logged in to.
func (r *Runner) hostValues(h *inventory.Host) map[string]any {
	var groups []string
	for _, g := range h.Groups {
		if g.Depth > 0 {
			groups = append(groups, g.Name)
		}
	}
	slices.Sort(groups)
	return map[string]any{nameKey: h.Name, groupsKey: plainTexts(groups), varsKey: plainValues{}.ofHost(h), userKey: r.Connect.Login(h.Connection())}
}

// hostsValues are the variables of every host. Hosts share what their groups say.
func hostsValues(inv *inventory.Inventory) map[string]any {
	hosts := map[string]any{}
	shared := plainValues{}
	for _, h := range inv.Hosts() {
		hosts[h.Name] = shared.ofHost(h)
	}
	return hosts
}

func plainTexts(list []string) []any {
	values := make([]any, len(list))
	for i, s := range list {
		values[i] = s
	}
	return values
}

// plainValues are the values of variables, by their nodes.
type plainValues map[*yamlpos.Node]any

// ofHost are the variables of a host, as inventory --host shows them.
func (p plainValues) ofHost(h *inventory.Host) map[string]any {
	vars := map[string]any{}
	for name, n := range inventory.MergeLayers(h.Layers()) {
		value, known := p[n]
		if !known {
			value = variableValue(name, n)
			p[n] = value
		}
		vars[name] = value
	}
	return vars
}

// variableValue returns the value of a variable. Parts that cannot be evaluated here are errors where they are used.
func variableValue(path string, n *yamlpos.Node) any {
	switch {
	case n.CanOpen():
		return templates.SealedValue(n)
	case n.Sealed != nil:
		err := unevaluatedError(path, n)
		return templates.Unusable(err.Hint, "%s (set at %s)", err.Msg, n.Pos())
	case yamlpos.IsTemplate(n):
		return templates.Unusable("write the value without {{ }}; if {{ }} must stay in the text, write !unsafe '…'",
			"%s (set at %s)", unevaluatedError(path, n).Msg, n.Pos())
	case n.Kind == yamlpos.Map:
		m := make(map[string]any, len(n.Pairs))
		for _, p := range n.Pairs {
			m[p.Key.Text] = variableValue(path+"."+p.Key.Text, p.Value)
		}
		return m
	case n.Kind == yamlpos.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = variableValue(path, item)
		}
		return list
	}
	return n.Any()
}
