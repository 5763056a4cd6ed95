package manifest

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/property"
)

// PropertyName gives the first spelling of a property.
func (r *Resource) PropertyName(key string) string { return property.Canonical(r.Type, key) }

// Received names the properties that the resource receives, from this host and
// from others.
func (r *Resource) Received() []string {
	var names []string
	if r.Recv != nil {
		for _, pair := range r.Recv.Node.Pairs {
			names = append(names, property.Canonical(r.Type, pair.Key.Text))
		}
	}
	for _, one := range r.Imports {
		names = append(names, one.Property)
	}
	return names
}

// CheckReceiving validates resolved properties of a resource called name, of which
// those that are received are not known: it reports what is wrong whatever they
// come to. The error carries positions.
func (r *Resource) CheckReceiving(node *yamlpos.Node, name string) error {
	with, unknown := property.WithUnknown(node, r.Received())
	p := property.Partial{
		Set:  property.Set{Type: r.Type, Name: yamlpos.From(r.Name.Node, name), Node: with},
		Open: func(n *yamlpos.Node) bool { return unknown[n] },
	}
	var errs yamlpos.Errors
	for _, pe := range p.Certain() {
		errs.Add(Positioned(r, node, pe))
	}
	return errs.Err()
}
