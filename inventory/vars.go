package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A layer is what the files say about one group or host: variables, and how to
// connect. All files add to the same layer, later ones winning.
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

// Vars gives the variables of the host: those of its groups in the order of
// Host.Groups, then its own. A later value replaces an earlier one whole. The
// map is fresh, the caller may change it. What stands below connect: is no
// variable.
func (h *Host) Vars() map[string]any {
	latest := map[string]*yamlpos.Node{}
	for _, g := range h.Groups {
		g.layer.overlay(latest)
		delete(latest, priorityKey)
	}
	h.layer.overlay(latest)
	vars := make(map[string]any, len(latest))
	for name, value := range latest {
		vars[name] = value.Any()
	}
	return vars
}

func (l *layer) overlay(latest map[string]*yamlpos.Node) {
	for _, n := range l.vars {
		for _, p := range n.Pairs {
			latest[p.Key.Text] = p.Value
		}
	}
}

func (b *builder) groupVars(g *Group, n *yamlpos.Node) {
	g.layer.vars = append(g.layer.vars, n)
	b.notes.expressions(n)
	g.layer.addSettings(b.ansibleSettings(n))
	if priority := n.Get(priorityKey); priority != nil {
		g.Priority = b.priority(priority)
	}
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
		l.vars = append(l.vars, port)
		l.addSettings(b.ansibleSettings(port))
	}
	if isNull(body) {
		return l
	}
	if body.Kind != yamlpos.Map {
		b.errs.Add(body.Errorf("write its variables as a map, or nothing", "host %s must be a map, not %s", key.Text, body.Describe()))
		return l
	}
	vars := *body
	if connect := body.Get("connect"); connect != nil {
		vars.Pairs = slices.DeleteFunc(slices.Clone(body.Pairs), func(p yamlpos.Pair) bool { return p.Value == connect })
		if b.isMap("connect", connect) {
			b.connect(&l, connect)
		}
	}
	if len(vars.Pairs) > 0 {
		l.vars = append(l.vars, &vars)
		b.notes.expressions(&vars)
		l.addSettings(b.ansibleSettings(&vars))
	}
	return l
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
		n.warnings = append(n.warnings, fmt.Sprintf("%s: a variable of the inventory is a value: {{ in it stays as it is, here and in %d others; write the expression into the manifest's data",
			n.templateAt.Pos(), n.templates-1))
	}
	if n.at == nil {
		return n.warnings
	}
	slices.Sort(n.ignored)
	names := strings.Join(slices.Compact(n.ignored), ", ")
	return append(n.warnings, fmt.Sprintf("%s: ignored, as no host needs Python or a setting of its shell: %s", n.at.Pos(), names))
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

func (n *notes) ignore(key *yamlpos.Node) {
	if n.at == nil {
		n.at = key
	}
	n.ignored = append(n.ignored, key.Text)
}

// nearMiss warns of a variable that was probably meant to be one of ours.
func (n *notes) nearMiss(key *yamlpos.Node, meant string) {
	n.warnings = append(n.warnings, fmt.Sprintf("%s: %s is a variable without a meaning of its own (did you mean %q?)", key.Pos(), key.Text, meant))
}
