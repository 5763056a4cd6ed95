package resource

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/property"
	"github.com/ccm-push/ccm-push/templates"
)

// checkProperties checks the properties as far as those that are open allow: what is
// wrong whatever they come to is reported now, the rest is found per host. Values that
// are guessed count as open.
func (rd *Reader) checkProperties(r *manifest.Resource, guessed map[*yamlpos.Node]bool) {
	before := len(rd.Report.Errors)
	rd.Report.Decode(r.Properties.Node, r.Type.New(), open(r.Properties, guessed))
	p := property.Partial{Set: r.PropertySet(), NameOpen: r.Name.HasExpressions(), Open: r.Properties.Open}
	rd.Report.Add(p.CheckTexts())
	reported := broken(r.Properties.Node, rd.Report.Errors[before:])
	p.Open = func(n *yamlpos.Node) bool { return r.Properties.Open(n) || reported[n] || guessed[n] }
	for _, pe := range p.Certain() {
		rd.Report.Add(p.Place(pe))
	}
	rd.Report.Add(r.CheckPlayFiles())
	rd.checkWarnings(r)
}

// checkWarnings tells of properties that are valid and look like a mistake. What is
// computed in a text counts as a word in it.
func (rd *Reader) checkWarnings(r *manifest.Resource) {
	res := r.Type.New()
	w, ok := res.(modules.Warner)
	if !ok {
		return
	}
	shown := func(v manifest.Value, n *yamlpos.Node) (*yamlpos.Node, error) {
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
		rd.Report.Warn(r.PropertySet().At(pe.Path), pe.Path+": "+pe.Msg)
	}
}

// open has decoding leave alone what is not known yet.
func open(v manifest.Value, guessed map[*yamlpos.Node]bool) yamlpos.Option {
	return yamlpos.Open(func(n *yamlpos.Node) bool { return v.Open(n) || guessed[n] })
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
