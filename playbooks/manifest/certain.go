package manifest

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/property"
	"github.com/ccm-push/ccm-push/templates"
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
	l.checkWarnings(r)
}

// checkWarnings tells of properties that are valid and look like a mistake. What is
// computed in a text counts as a word in it.
func (l *loader) checkWarnings(r *Resource) {
	res := r.Type.New()
	w, ok := res.(modules.Warner)
	if !ok {
		return
	}
	shown := func(v Value, n *yamlpos.Node) (*yamlpos.Node, error) {
		if v.Open(n) {
			return yamlpos.From(n, templates.WithoutExpressions(n.Text, "x")), nil
		}
		return n, nil
	}
	props, _ := r.Properties.Node.Map(func(n *yamlpos.Node) (*yamlpos.Node, error) { return shown(r.Properties, n) })
	name, _ := shown(r.Name, r.Name.Node)
	_ = yamlpos.Decode(props, res) // what does not fit has been reported, or is not known
	modules.SetName(res, name.Text)
	for _, pe := range w.Warnings() {
		l.warn(r.properties().At(pe.Path), pe.Path+": "+pe.Msg)
	}
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
