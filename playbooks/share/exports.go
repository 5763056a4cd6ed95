package share

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// An exportIndex finds the resources of a play that may export values, as far as they are
// known before any host is contacted.
type exportIndex struct {
	called    map[string][]exporter      // type#name and type#alias → the resources of that name
	openTypes map[string]bool            // types of which a resource of any name may export something
	open      bool                       // so may resources of every type: some depend on the host
	number    map[*manifest.Resource]int // in the order in which the play runs
}

type exporter struct {
	resource *manifest.Resource
	number   int // in the order in which the play runs
}

func exportsOf(p *manifest.Play) *exportIndex {
	x := &exportIndex{called: map[string][]exporter{}, openTypes: map[string]bool{}, open: p.JetFile != nil, number: map[*manifest.Resource]int{}}
	manifest.Walk(p.Resources, func(r *manifest.Resource, _ int) {
		x.number[r] = len(x.number)
		x.open = x.open || r.Unknown()
		for _, name := range r.LiteralNames() {
			ref := r.Type.Name + "#" + name
			x.called[ref] = append(x.called[ref], exporter{r, x.number[r]})
		}
		if len(r.Exports) > 0 && r.DependsOnHost() {
			x.openTypes[r.Type.Name] = true
		}
	})
	return x
}

// mayExport reports whether a host of the play may have a resource that is called so and
// exports the value.
func (x *exportIndex) mayExport(ref, key string) bool {
	return x.isOpen(ref) || slices.ContainsFunc(x.called[ref], func(e exporter) bool { return !e.resource.Unselected && e.exports(key) })
}

// exportsSome reports whether an entry may be of a resource that exports something.
func (x *exportIndex) exportsSome(e *wire.Entry) bool {
	return x.isOpen(e.Ref()) || slices.ContainsFunc(x.called[e.Ref()], func(e exporter) bool { return len(e.resource.Exports) > 0 })
}

// isOpen reports whether a resource of that name may turn up that the manifest does not
// show.
func (x *exportIndex) isOpen(ref string) bool {
	typeName, _, _ := strings.Cut(ref, "#")
	return x.open || x.openTypes[typeName]
}

func (e exporter) exports(key string) bool {
	return slices.ContainsFunc(e.resource.Exports, func(n *yamlpos.Node) bool { return n.Text == key })
}

// mayImport reports whether a play may receive values from other hosts.
func mayImport(p *manifest.Play) bool {
	may := p.JetFile != nil
	manifest.Walk(p.Resources, func(r *manifest.Resource, _ int) { may = may || len(r.Imports) > 0 || r.Unknown() })
	return may
}

// exportingHosts are the names of the hosts that resources of a play import from.
func exportingHosts(p *manifest.Play) map[string]bool {
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

// ExportersFirst puts the hosts of a batch first that others import from; else the order
// stays.
func ExportersFirst(p *manifest.Play, batch []*inventory.Host) []*inventory.Host {
	names := exportingHosts(p)
	if len(names) == 0 {
		return batch
	}
	rank := func(h *inventory.Host) int {
		if names[h.Name] {
			return 0
		}
		return 1
	}
	sorted := slices.Clone(batch)
	slices.SortStableFunc(sorted, func(a, b *inventory.Host) int { return rank(a) - rank(b) })
	return sorted
}
