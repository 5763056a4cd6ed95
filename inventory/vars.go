package inventory

import (
	"slices"
	"strconv"

	"github.com/ccm-push/ccm-push/inventory/ansible"
	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// priorityKey is the variable that is a property of its group instead.
const priorityKey = "ansible_group_priority"

// variables takes the variables that stand in the map n into said.
func (b *builder) variables(said *content, n *yamlpos.Node) {
	if len(n.Pairs) == 0 {
		return
	}
	n = ansible.Marked(n)
	said.settings.Add(b.connections.Variables(n))
	if n = n.Without(connection.IsSecretVariable); len(n.Pairs) > 0 {
		said.vars = append(said.vars, n)
	}
}

// groupVars takes the variables of a group. connectHint is for a connect map that
// stands among them, where it would be a variable without an effect.
func (b *builder) groupVars(g *Group, n *yamlpos.Node, connectHint string) {
	for _, p := range n.Pairs {
		if p.Key.Text == "connect" {
			b.connectVariable(p, connectHint)
		}
	}
	if priority := n.Get(priorityKey); priority != nil {
		g.Priority = b.priority(priority)
	}
	b.variables(&g.said, withoutPriority(n))
}

const (
	connectBesideVars = "connect: stands beside vars:, not in it; a variable of yours needs another name"
	connectNowhere    = "a group says it here with ansible_user, ansible_become and the like; a variable of yours needs another name"
)

// connectVariable refuses a map with nothing but keys of a connect map, and warns of
// one that has other keys too, {host: db, port: 5432} may well be a variable, or has
// only keys that look misspelt.
func (b *builder) connectVariable(p yamlpos.Pair, hint string) {
	known := func(p yamlpos.Pair) bool { return connection.IsKey(p.Key.Text) }
	other := func(p yamlpos.Pair) bool { return !known(p) }
	far := func(p yamlpos.Pair) bool { return !connection.IsNearKey(p.Key.Text) }
	switch {
	case p.Value.Kind != yamlpos.Map || len(p.Value.Pairs) == 0:
	case !slices.ContainsFunc(p.Value.Pairs, other):
		b.errs.Add(p.Key.Errorf(hint, "connect as a variable would say nothing about how hosts are reached"))
	case slices.ContainsFunc(p.Value.Pairs, known), !slices.ContainsFunc(p.Value.Pairs, far):
		b.notes.add(p.Key, "connect is a variable here, and says nothing about how hosts are reached; %s", hint)
	}
}

// withoutPriority leaves out what is a property of the group and no variable.
func withoutPriority(vars *yamlpos.Node) *yamlpos.Node {
	return vars.Without(func(key string) bool { return key == priorityKey })
}

func (b *builder) priority(n *yamlpos.Node) int {
	if n.IsNull() {
		return 1
	}
	priority, err := strconv.Atoi(yamlpos.From(n, n.Value).Text)
	if err != nil {
		b.errs.Add(n.Errorf("", "%s must be an integer, not %s", priorityKey, n.Describe()))
	}
	return priority
}

// hostBody reads what is written below a host. port is what its key says.
func (b *builder) hostBody(key, port, body *yamlpos.Node) (said content) {
	if port != nil {
		b.variables(&said, port)
	}
	if body.IsNull() {
		return said
	}
	if body.Kind != yamlpos.Map {
		b.errs.Add(body.Errorf("write its variables as a map, or nothing", "host %s must be a map, not %s", key.Text, body.Describe()))
		return said
	}
	b.variablesAndConnect(&said, body)
	return said
}

// variablesAndConnect reads a map of variables, among which there may be a map
// connect.
func (b *builder) variablesAndConnect(said *content, body *yamlpos.Node) {
	vars := body
	if connect := body.Get("connect"); connect != nil {
		vars = body.Without(func(key string) bool { return key == "connect" })
		if b.isMap("connect", connect) {
			b.connect(said, connect)
		}
	}
	b.variables(said, vars)
}

// connect takes a map that stands below connect:.
func (b *builder) connect(said *content, n *yamlpos.Node) {
	said.connects = append(said.connects, n.Without(connection.IsSecretKey))
	said.settings.Add(b.connections.Connect(n))
}
