package inventory

import (
	"slices"
	"strconv"

	"github.com/ccm-push/ccm-push/inventory/ansible"
	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/inventory/source"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// priorityKey is a variable that becomes a property of its group.
const priorityKey = "ansible_group_priority"

// variables adds the variables in the map n to said.
func (b *builder) variables(said *content, n *yamlpos.Node) {
	if len(n.Pairs) == 0 {
		return
	}
	n = ansible.Marked(n, b.inv.options.Opener)
	said.whole = append(said.whole, wholeMap{false, n})
	said.settings.Add(b.connections.Variables(n))
	if n = n.Without(connection.IsSecretVariable); len(n.Pairs) > 0 {
		said.vars = append(said.vars, n)
	}
}

// groupVars reads the variables of a group. connectHint is the hint for a map named connect among them, where it would
// be a variable without an effect.
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
	connectBesideVars = "write connect: next to vars:, not in it; choose another name for a variable"
	connectNowhere    = `here a group uses "ansible_user", "ansible_become" and so on; choose another name for a variable`
)

// connectVariable checks a variable called connect. It refuses a map that has only keys of a connect map. It warns of a
// map that has other keys too, since {host: db, port: 5432} may well be a variable, and of one with only keys that look
// misspelt.
func (b *builder) connectVariable(p yamlpos.Pair, hint string) {
	known := func(p yamlpos.Pair) bool { return connection.IsKey(p.Key.Text) }
	other := func(p yamlpos.Pair) bool { return !known(p) }
	far := func(p yamlpos.Pair) bool { return !connection.IsNearKey(p.Key.Text) }
	switch {
	case p.Value.Kind != yamlpos.Map || len(p.Value.Pairs) == 0:
	case !slices.ContainsFunc(p.Value.Pairs, other):
		b.errs.Add(p.Key.Errorf(hint, `a variable named "connect" would have no effect on connections`))
	case slices.ContainsFunc(p.Value.Pairs, known), !slices.ContainsFunc(p.Value.Pairs, far):
		b.notes.add(p.Key, `"connect" is only a variable here, and has no effect on connections; %s`, hint)
	}
}

// withoutPriority omits priorityKey, which is not a variable.
func withoutPriority(vars *yamlpos.Node) *yamlpos.Node {
	return vars.Without(func(key string) bool { return key == priorityKey })
}

func (b *builder) priority(n *yamlpos.Node) int {
	if n.IsNull() {
		return 1
	}
	priority, err := strconv.Atoi(yamlpos.From(n, n.Value).Text)
	if err != nil {
		b.errs.Add(n.Errorf("", "%q must be an integer, not %s", priorityKey, n.Describe()))
	}
	return priority
}

// hostBody reads the body of a host. port is the port in its key.
func (b *builder) hostBody(key, port, body *yamlpos.Node) (said content) {
	if port != nil {
		b.variables(&said, port)
	}
	if body.IsNull() {
		return said
	}
	if body.Kind != yamlpos.Map {
		b.errs.Add(body.Errorf("write its variables as a map, or nothing", "the host %q must be a map, not %s", key.Text, body.Describe()))
		return said
	}
	b.variablesAndConnect(&said, body)
	return said
}

// variablesAndConnect reads a map of variables, which may have a map connect among them.
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

// connect reads the map below connect:.
func (b *builder) connect(said *content, n *yamlpos.Node) {
	said.whole = append(said.whole, wholeMap{true, n})
	said.connects = append(said.connects, n.Without(connection.IsSecretKey))
	said.settings.Add(b.connections.Connect(n))
}

// A varFile is the content of a file in group_vars or host_vars.
type varFile struct {
	folder int // index in builder.folders
	said   content
}

// varFiles reads what group_vars and host_vars have for the groups and hosts of the
// inventory.
func (b *builder) varFiles() {
	b.fileFolders = len(b.folders)
	for i, folder := range b.folders {
		groups := b.openVars(folder, source.GroupVars)
		for _, g := range b.inv.groups {
			for _, vars := range b.varFilesOf(groups, g.Name) {
				g.files = append(g.files, varFile{i, b.varFile(b.withoutPriority(vars))})
			}
		}
		hosts := b.openVars(folder, source.HostVars)
		for _, h := range b.inv.everyHost() {
			for _, vars := range b.varFilesOf(hosts, h.Name) {
				h.files = append(h.files, varFile{i, b.varFile(vars)})
			}
		}
	}
}

func (b *builder) openVars(in source.VarsFolder, kind string) source.VarsListing {
	list, err := in.Open(kind, b.note)
	b.errs.Add(err)
	if list.Skipped != "" {
		b.notes.add(yamlpos.TextFrom(list.Path, ""), "%s", list.Skipped)
	}
	return list
}

// varFilesOf reads the files of one group or host, and records their errors.
func (b *builder) varFilesOf(in source.VarsListing, name string) (maps []*yamlpos.Node) {
	paths, err := in.Find(name)
	b.errs.Add(err)
	for _, path := range paths {
		vars, err := in.Read(path, b.inv.options.Opener)
		b.errs.Add(err)
		if vars != nil {
			maps = append(maps, vars)
		}
	}
	return maps
}

func (b *builder) varFile(vars *yamlpos.Node) (said content) {
	b.variablesAndConnect(&said, vars)
	return said
}

// withoutPriority omits priorityKey from a file of a group: only an inventory can set it.
func (b *builder) withoutPriority(vars *yamlpos.Node) *yamlpos.Node {
	if priority := vars.Get(priorityKey); priority != nil {
		b.notes.add(priority, "%q only counts in an inventory, below vars:", priorityKey)
	}
	return withoutPriority(vars)
}
