package manifest

import (
	"reflect"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// Controller is the name in `on` for the machine where ccm-push runs, unless the inventory has a host of that name.
const Controller = "controller"

// checkElsewhere refuses everything that the host can influence in a resource that runs on another host: by that it
// could act there. The content of a file is allowed.
func (t Taint) checkElsewhere() error {
	r := t.resource
	if r.On == nil {
		return nil
	}
	const hint = "use data of the inventory; or write one resource for each possible value, each with a condition, which can read such data: control: {if: Facts.x == 'y'}"
	if r.On.FromHost(t.seen) {
		return r.On.Node.Errorf("use data of the inventory", "data from a host cannot choose where a resource runs")
	}
	var errs yamlpos.Errors
	if r.Name.FromHost(t.seen) {
		errs.Add(r.Name.Node.Errorf(hint, "data from a host cannot be used as the name of a resource that runs on another host"))
	}
	content := map[string]bool{}
	for _, f := range modules.Fields(r.Type.New()) {
		content[f.Name] = f.Type == reflect.TypeFor[modules.Content]()
	}
	for _, pair := range r.Properties.Node.Pairs {
		switch {
		case !t.fromHost(pair.Key) && !t.fromHost(pair.Value):
		case t.fromHost(pair.Key) || !content[CanonicalProperty(r.Type, pair.Key.Text)]:
			errs.Add(pair.Value.Errorf(hint, "the property %q of type %s cannot contain data that the host of the play sends, because \"on\" selects another host for this resource", pair.Key.Text, r.Type.Name))
		}
	}
	if r.Health.FromHost(t.seen) {
		errs.Add(r.Health.Node.Errorf(hint, "data from a host cannot be in a health check on another host"))
	}
	return errs.Err()
}

// Delegates calls visit with each place in the play that names literally where a resource or a gate runs. Values that
// are not scalars, such as lists, are errors already.
func (p *Play) Delegates(visit func(on *yamlpos.Node)) {
	Walk(p.Resources, func(r *Resource, _ int) {
		if r.On != nil && !r.Unselected && r.On.Node.Kind == yamlpos.Scalar && !r.On.Open(r.On.Node) {
			visit(r.On.Node)
		}
	})
	for _, one := range p.Rollout.Plays() {
		one.Delegates(visit)
	}
	if p.Rollout == nil {
		return
	}
	for _, g := range p.Rollout.Gates {
		if g.On != nil {
			visit(g.On)
		}
	}
}
