package exchange

import (
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

// GiversFirst puts the hosts of a batch first that others wait for; else the order
// stays.
func GiversFirst(p *manifest.Play, batch []*inventory.Host) []*inventory.Host {
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
