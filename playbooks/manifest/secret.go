package manifest

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

// Shown are the parts of the resource that people see even if it is sensitive.
func (r *Resource) Shown() (all []*Value) {
	for _, v := range r.values() {
		if v != nil && v != r.Each && v != r.Health && v != &r.Properties {
			all = append(all, v)
		}
	}
	return all
}

// GivenInputs returns what the properties of the resource, its health checks, and its folder of templates can read. It
// does not include the data for a nested manifest.
func (r *Resource) GivenInputs(files *templates.Files) (in templates.Inputs) {
	nested := r.DataGiven()
	for _, pair := range r.Properties.Node.Pairs {
		if in.Add(r.Properties.InputsOf(pair.Key, files)); !r.Applies() || pair.Value != nested {
			in.Add(r.Properties.InputsOf(pair.Value, files))
		}
	}
	if r.Health != nil {
		in.Add(r.Health.Inputs(files))
	}
	in.Add(r.treeInputs(files))
	return in
}

// InputsOfScalar is [Value.InputsOf] for one scalar.
func (v *Value) InputsOfScalar(n *yamlpos.Node, files *templates.Files) (in templates.Inputs) {
	if text := v.texts[n]; text != nil {
		in = text.Inputs(files)
	}
	return in
}

// GeneratorInputs returns what the template that writes the play's resources can read, and the expressions in its
// output.
func (p *Play) GeneratorInputs(files *templates.Files) templates.Inputs {
	return p.generatorInputs(files)
}
