package manifest

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/property"
)

// checkProperties holds the properties against the type, as far as those that
// are open allow: what is wrong whatever they come to is reported now, the rest
// is found per host.
func (l *loader) checkProperties(r *Resource) {
	before := len(l.errs)
	l.decode(r.Properties.Node, r.Type.New(), l.open(r.Properties))
	p := property.Partial{Set: r.properties(), NameOpen: r.Name.HasExpressions(), Open: r.Properties.Open}
	l.add(p.CheckTexts())
	reported := broken(r.Properties.Node, l.errs[before:])
	p.Open = func(n *yamlpos.Node) bool { return r.Properties.Open(n) || reported[n] || l.guessed[n] }
	for _, pe := range p.Certain() {
		l.add(p.Place(pe))
	}
	l.checkPlayFiles(r)
}

// open leaves alone what is not known yet.
func (l *loader) open(v Value) yamlpos.Option {
	return yamlpos.Open(func(n *yamlpos.Node) bool { return v.Open(n) || l.guessed[n] })
}

// broken finds the nodes that are reported already: nothing follows from them.
func broken(n *yamlpos.Node, errs yamlpos.Errors) map[*yamlpos.Node]bool {
	found := map[*yamlpos.Node]bool{}
	var walk func(*yamlpos.Node)
	walk = func(n *yamlpos.Node) {
		if slices.ContainsFunc(errs, func(e *yamlpos.Error) bool { return e.Line == n.Line && e.Column == n.Column }) {
			found[n] = true
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	for _, pair := range n.Pairs {
		walk(pair.Value)
	}
	return found
}
