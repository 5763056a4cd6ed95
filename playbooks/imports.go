package playbooks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// exporters are the resources of a play that may give values to other hosts, as far
// as is known before any host is.
type exporters struct {
	called map[string][]exporter // type#name and type#alias → those of that name
	open   map[string]bool       // types of which any name may export something
	all    bool                  // so may resources that nobody knows yet
	first  map[*manifest.Resource]int
}

type exporter struct {
	*manifest.Resource
	number int // in the order in which the play runs
}

func exportersOf(p *manifest.Play) *exporters {
	x := &exporters{called: map[string][]exporter{}, open: map[string]bool{}, all: p.JetFile != nil, first: map[*manifest.Resource]int{}}
	manifest.Walk(p.Resources, func(r *manifest.Resource, _ int) {
		x.first[r] = len(x.first)
		x.all = x.all || r.Unknown()
		for _, name := range r.LiteralNames() {
			ref := r.Type.Name + "#" + name
			x.called[ref] = append(x.called[ref], exporter{r, x.first[r]})
		}
		if len(r.Exports) > 0 && r.DependsOnHost() {
			x.open[r.Type.Name] = true
		}
	})
	return x
}

// may reports whether a host of the play may have a resource that is called so and
// exports the value.
func (x *exporters) may(ref, key string) bool {
	return x.isOpen(ref) || slices.ContainsFunc(x.called[ref], func(e exporter) bool { return !e.Unselected && e.exports(key) })
}

// any reports whether a resource that an entry may be of exports something.
func (x *exporters) any(e *modules.Entry) bool {
	return x.isOpen(e.Ref()) || slices.ContainsFunc(x.called[e.Ref()], func(e exporter) bool { return len(e.Exports) > 0 })
}

// isOpen reports whether a resource of that name may be one that nobody knows yet.
func (x *exporters) isOpen(ref string) bool {
	typeName, _, _ := strings.Cut(ref, "#")
	return x.all || x.open[typeName]
}

func (e exporter) exports(key string) bool {
	return slices.ContainsFunc(e.Exports, func(n *yamlpos.Node) bool { return n.Text == key })
}

// mayImport reports whether a play may receive values from other hosts.
func mayImport(p *manifest.Play) bool {
	may := p.JetFile != nil
	manifest.Walk(p.Resources, func(r *manifest.Resource, _ int) { may = may || len(r.Imports) > 0 || r.Unknown() })
	return may
}

// checkImports reports values that no host of a run could receive from others: those
// of hosts that are not in it, or come too late. hosts are those of each play; nil if
// they are not known.
func (r *Runner) checkImports(hosts [][]*inventory.Host) error {
	c := importCheck{Runner: r, hosts: hosts}
	for _, p := range r.Plays {
		c.exporters = append(c.exporters, exportersOf(p))
	}
	for n, p := range r.Plays {
		manifest.Walk(p.Resources, func(one *manifest.Resource, _ int) {
			if one.Unselected {
				return
			}
			for _, imp := range one.Imports {
				c.errs.Add(c.check(n, one, imp))
			}
		})
	}
	return manifest.Distinct(c.errs)
}

type importCheck struct {
	*Runner
	hosts     [][]*inventory.Host
	exporters []*exporters // by number of the play
	errs      yamlpos.Errors
}

// check looks at one value that a resource of a play receives.
func (c *importCheck) check(play int, r *manifest.Resource, imp manifest.Import) error {
	if c.hosts != nil && c.Inventory.Host(imp.Host.Text) == nil {
		return imp.Host.Errorf(c.suggestHost(imp.Host.Text), "no host of the inventory is called %q", imp.Host.Text)
	}
	from := play
	for ; from >= 0; from-- {
		if c.takesPart(from, imp.Host.Text) && c.exporters[from].may(imp.Ref, imp.Key) {
			break
		}
	}
	switch {
	case from < 0:
		return c.nowhere(play, imp)
	case from == play:
		return c.inTime(play, r, imp)
	}
	return nil
}

func (c *importCheck) takesPart(play int, host string) bool {
	return c.hosts == nil || slices.ContainsFunc(c.hosts[play], func(h *inventory.Host) bool { return h.Name == host })
}

func (c *importCheck) suggestHost(name string) string {
	var known []string
	for _, h := range c.Inventory.Hosts() {
		known = append(known, h.Name)
	}
	if s := yamlpos.Suggest(name, known); s != "" {
		return "did you mean " + s + "?"
	}
	return ""
}

// nowhere says why nobody gives a value up to the play that receives it.
func (c *importCheck) nowhere(play int, imp manifest.Import) error {
	for n, x := range c.exporters {
		switch name := c.Plays[n].Name; {
		case !x.may(imp.Ref, imp.Key):
		case n > play:
			return imp.From.Errorf("move the play that receives it behind that one", "%s gives %s only later, in play %q", imp.Ref, imp.Key, name)
		default:
			hint := "receive it from a host of that play"
			if c.Options.Limit != "" {
				hint += ", or have --limit let it in"
			}
			return imp.Host.Errorf(hint, "play %q, which has %s, does not run on %s", name, imp.Ref, imp.Host.Text)
		}
	}
	var called []exporter
	for _, x := range c.exporters {
		called = append(called, x.called[imp.Ref]...)
	}
	switch {
	case len(called) == 0:
		return imp.From.Errorf("", "no resource is called %s", imp.Ref)
	case called[0].Unselected:
		return imp.From.Errorf("have the tags or --start-at let it in", "%s is not selected in this run", imp.Ref)
	}
	return imp.From.Errorf(fmt.Sprintf("write there export: [%s]", imp.Key), "%s, at %s, does not export %s", imp.Ref, called[0].Name.Node.Pos(), imp.Key)
}

// inTime checks that a resource which gives a value in the same play does so before
// the one that receives it.
func (c *importCheck) inTime(play int, r *manifest.Resource, imp manifest.Import) error {
	x := c.exporters[play]
	if !x.isOpen(imp.Ref) {
		givers := slices.DeleteFunc(slices.Clone(x.called[imp.Ref]), func(e exporter) bool { return e.Unselected || !e.exports(imp.Key) })
		if first := givers[0]; first.number >= x.first[r] {
			if circle := x.circle(r, first.Resource); circle != "" {
				return imp.From.Errorf("remove one of these", "hosts would wait for each other in a circle: %s", circle)
			}
			return imp.From.Errorf("what another host gives stands before what receives it: move it up", "%s stands later, at %s", imp.Ref, first.Name.Node.Pos())
		}
	}
	if !r.Unconditional() || c.hosts == nil {
		return nil
	}
	first := batches(c.hosts[play], c.Plays[play].Serial)[0] // the host that gives is in one
	if slices.ContainsFunc(first, func(h *inventory.Host) bool { return h.Name == imp.Host.Text }) {
		return nil
	}
	return imp.Host.Errorf(fmt.Sprintf("put %s into a play before this one", imp.Ref),
		"%s has its turn in a later batch than %s, so it cannot give it a value", imp.Host.Text, first[0].Name)
}

// circle gives the way from one resource over another one back to it, along what they
// receive; "" if there is none.
func (x *exporters) circle(r, over *manifest.Resource) string {
	been := map[*manifest.Resource]bool{}
	path := []string{shownRef(r), shownRef(over)}
	var walk func(at *manifest.Resource) bool
	walk = func(at *manifest.Resource) bool {
		if been[at] {
			return at == r
		}
		been[at] = true
		for _, imp := range at.Imports {
			for _, e := range x.called[imp.Ref] {
				path = append(path, shownRef(e.Resource))
				if e.Resource == r || walk(e.Resource) {
					return true
				}
				path = path[:len(path)-1]
			}
		}
		return false
	}
	if over == r {
		return shownRef(r) + " → " + shownRef(r)
	}
	if !walk(over) {
		return ""
	}
	return strings.Join(path, " → ")
}

func shownRef(r *manifest.Resource) string { return r.Type.Name + "#" + r.Name.Node.Text }

// givers are the hosts that resources of a play receive values from.
func givers(p *manifest.Play) map[string]bool {
	names := map[string]bool{}
	manifest.Walk(p.Resources, func(r *manifest.Resource, _ int) {
		for _, imp := range r.Imports {
			if !r.Unselected {
				names[imp.Host.Text] = true
			}
		}
	})
	return names
}

// giversFirst puts the hosts of a batch first that others wait for; else the order
// stays.
func giversFirst(p *manifest.Play, batch []*inventory.Host) []*inventory.Host {
	names := givers(p)
	if len(names) == 0 {
		return batch
	}
	first := func(h *inventory.Host) int {
		if names[h.Name] {
			return 0
		}
		return 1
	}
	sorted := slices.Clone(batch)
	slices.SortStableFunc(sorted, func(a, b *inventory.Host) int { return first(a) - first(b) })
	return sorted
}
