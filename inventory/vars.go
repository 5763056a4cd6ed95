package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A layer is what the inventories say about one group or host, or one var file:
// variables, and how to connect. All inventories add to the same layer, later ones
// winning.
type layer struct {
	vars     []*yamlpos.Node // maps
	connects []*yamlpos.Node // maps
	settings []setting       // what vars and connects say about the connection
}

func (l *layer) add(more layer) {
	l.vars = append(l.vars, more.vars...)
	l.connects = append(l.connects, more.connects...)
	l.addSettings(more.settings)
}

// addSettings keeps the settings sorted by rank.
func (l *layer) addSettings(more []setting) {
	l.settings = append(l.settings, more...)
	slices.SortStableFunc(l.settings, func(a, b setting) int { return int(a.rank) - int(b.rank) })
}

// priorityKey is the variable that is a property of its group instead.
const priorityKey = "ansible_group_priority"

// Vars gives the variables of the host: those of its [Host.Layers]. A later value
// replaces an earlier one whole, or with [Options.MergeMaps], maps are merged. The
// map is fresh, the caller may change it. What stands below connect: is no
// variable, nor is a password.
func (h *Host) Vars() map[string]any {
	latest := map[string]*yamlpos.Node{}
	for p := range h.places() {
		for _, n := range p.layer.vars {
			for _, pair := range n.Pairs {
				latest[pair.Key.Text] = h.below.over(latest[pair.Key.Text], pair.Value)
			}
		}
	}
	vars := make(map[string]any, len(latest))
	for name, value := range latest {
		vars[name] = value.Any()
	}
	return vars
}

// over gives what a value comes to over one of a lower layer, which may be nil.
func (s *stack) over(below, above *yamlpos.Node) *yamlpos.Node {
	if !s.deep || below == nil || below.Kind != yamlpos.Map || above.Kind != yamlpos.Map {
		return above
	}
	merged := *above
	merged.Pairs = slices.Clone(below.Pairs)
	index := make(map[string]int, len(merged.Pairs))
	for i, p := range merged.Pairs {
		index[p.Key.Text] = i
	}
	for _, p := range above.Pairs {
		i, known := index[p.Key.Text]
		if !known {
			merged.Pairs = append(merged.Pairs, p)
			continue
		}
		merged.Pairs[i] = yamlpos.Pair{Key: p.Key, Value: s.over(merged.Pairs[i].Value, p.Value)}
	}
	return &merged
}

// variables takes the variables that stand in the map n into l.
func (b *builder) variables(l *layer, n *yamlpos.Node) {
	if len(n.Pairs) == 0 {
		return
	}
	l.addSettings(b.ansibleSettings(n))
	if n = without(n, isSecretVariable); len(n.Pairs) > 0 {
		b.notes.expressions(n)
		l.vars = append(l.vars, n)
	}
}

// groupVars takes the variables of a group. connectHint is for a connect map that
// stands among them, where it would be a variable that nobody reads.
func (b *builder) groupVars(g *Group, n *yamlpos.Node, connectHint string) {
	for _, p := range n.Pairs {
		if p.Key.Text == "connect" {
			b.connectVariable(p, connectHint)
		}
	}
	if priority := n.Get(priorityKey); priority != nil {
		g.Priority = b.priority(priority)
	}
	b.variables(&g.layer, withoutPriority(n))
}

const (
	connectBesideVars = "connect: stands beside vars:, not in it; a variable of yours needs another name"
	connectNowhere    = "a group says it here with ansible_user, ansible_become and the like; a variable of yours needs another name"
)

// connectVariable refuses a map with nothing but keys of a connect map, and warns of
// one that has other keys too: {host: db, port: 5432} may well be a variable.
func (b *builder) connectVariable(p yamlpos.Pair, hint string) {
	known := func(p yamlpos.Pair) bool { return slices.Contains(connectKeys, p.Key.Text) }
	other := func(p yamlpos.Pair) bool { return !known(p) }
	switch {
	case p.Value.Kind != yamlpos.Map || len(p.Value.Pairs) == 0:
	case !slices.ContainsFunc(p.Value.Pairs, other):
		b.errs.Add(p.Key.Errorf(hint, "connect as a variable would say nothing about how hosts are reached"))
	case slices.ContainsFunc(p.Value.Pairs, known):
		b.notes.add(p.Key, "connect is a variable here, and says nothing about how hosts are reached; %s", hint)
	}
}

// withoutPriority leaves out what is a property of the group and no variable.
func withoutPriority(vars *yamlpos.Node) *yamlpos.Node {
	return without(vars, func(key string) bool { return key == priorityKey })
}

func (b *builder) priority(n *yamlpos.Node) int {
	if isNull(n) {
		return 1
	}
	priority, err := strconv.Atoi(asVariable(n).Text)
	if err != nil {
		b.errs.Add(n.Errorf("", "%s must be an integer, not %s", priorityKey, n.Describe()))
	}
	return priority
}

// hostLayer reads what is written below a host. port is what its key says.
func (b *builder) hostLayer(key, port, body *yamlpos.Node) layer {
	var l layer
	if port != nil {
		b.variables(&l, port)
	}
	if isNull(body) {
		return l
	}
	if body.Kind != yamlpos.Map {
		b.errs.Add(body.Errorf("write its variables as a map, or nothing", "host %s must be a map, not %s", key.Text, body.Describe()))
		return l
	}
	b.variablesAndConnect(&l, body)
	return l
}

// variablesAndConnect reads a map of variables, among which there may be a map
// connect.
func (b *builder) variablesAndConnect(l *layer, body *yamlpos.Node) {
	vars := body
	if connect := body.Get("connect"); connect != nil {
		vars = without(body, func(key string) bool { return key == "connect" })
		if b.isMap("connect", connect) {
			b.connect(l, connect)
		}
	}
	b.variables(l, vars)
}

// notes collects what is worth a warning.
type notes struct {
	warnings []string
	ignored  []string      // ansible_ variables that have no meaning here
	at       *yamlpos.Node // where the first of them stands

	templates  int           // values that hold what looks like an expression
	templateAt *yamlpos.Node // the first of them
}

func (n *notes) list() []string {
	if n.templates > 0 {
		n.warnings = append(n.warnings, fmt.Sprintf("%s: a variable of the inventory is a value: {{ in it stays as it is%s; write the expression into the manifest's data",
			n.templateAt.Pos(), hereAndIn(n.templates-1)))
	}
	if n.at == nil {
		return n.warnings
	}
	slices.Sort(n.ignored)
	names := strings.Join(slices.Compact(n.ignored), ", ")
	return append(n.warnings, fmt.Sprintf("%s: ignored, as no host needs Python or a setting of its shell: %s", n.at.Pos(), names))
}

func hereAndIn(others int) string {
	switch others {
	case 0:
		return ""
	case 1:
		return ", here and in 1 other"
	}
	return fmt.Sprintf(", here and in %d others", others)
}

// expressions notes values that Ansible would render.
func (n *notes) expressions(v *yamlpos.Node) {
	if v.Kind == yamlpos.Scalar && (strings.Contains(v.Text, "{{") || strings.Contains(v.Text, "{%")) {
		if n.templates++; n.templateAt == nil {
			n.templateAt = v
		}
	}
	for _, item := range v.Items {
		n.expressions(item)
	}
	for _, pair := range v.Pairs {
		n.expressions(pair.Value)
	}
}

func (n *notes) add(at *yamlpos.Node, format string, args ...any) {
	n.warnings = append(n.warnings, at.Pos()+": "+fmt.Sprintf(format, args...))
}

func (n *notes) ignore(key *yamlpos.Node) {
	if n.at == nil {
		n.at = key
	}
	n.ignored = append(n.ignored, key.Text)
}

// nearMiss warns of a variable that was probably meant to be one of ours.
func (n *notes) nearMiss(key *yamlpos.Node, meant string) {
	n.add(key, "%s is a variable without a meaning of its own (did you mean %q?)", key.Text, meant)
}
