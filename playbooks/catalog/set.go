package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog/sets"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/templates"
)

// setValues adds the entry of a resource that sets values, and sets them.
func setValues(ctx context.Context, x *expansion, r *manifest.Resource, in *scope, env *templates.Env, e wire.Entry, o origin) int {
	node, err := r.Properties.Resolve(ctx, env)
	if err == nil {
		e.Properties, err = setProperties(r, e.Name, node)
	}
	for _, key := range in.manifest.taint(r).Set() {
		if !x.compiler.manifests.setFromHost[key] { // the checks of files and manifests have not known it
			err = r.Name.Node.Errorf("write the set in a manifest that has a fixed name and no resources_jet_file",
				"this manifest is known only for one host, so it cannot set %q to a value from the host", key)
		}
	}
	if err != nil && e.Sensitive {
		err = withheld(err)
	}
	if x.errs.Add(err); err != nil {
		x.draft.names.unknown(e.Type, e.Name, e.Alias)
		return -1
	}
	values := manifest.GetProperty(r.Type, node, "data").Pairs
	for i, written := range r.PropertySet().SetValues() {
		if in.secretValue(x, r, env, &e, written.Value) {
			secret.Everything().Each(values[i].Value.Any(), x.compiler.opts.Mask.Add)
			x.results.sets.Hide(written.Key.Text)
		}
	}
	shown := in.shown(r, env)
	shown.Properties = node
	i := x.add(e, o, shown)
	if e.Hidden {
		return i
	}
	only := manifest.GetProperty(r.Type, node, "refreshonly")
	by := sets.By{Entry: i, Notify: only != nil && only.Value == true}
	by.Decide = by.Notify || r.Unselected || len(e.Require) > 0 || len(e.Health) > 0
	for _, v := range values {
		x.results.sets.Set(v, by)
	}
	return i
}

// setProperties returns the properties of a set for the host, which gets no values.
func setProperties(r *manifest.Resource, name string, node *yamlpos.Node) (json.RawMessage, error) {
	without := *node
	without.Pairs = slices.DeleteFunc(slices.Clone(node.Pairs), func(p yamlpos.Pair) bool { return p.Key.Text == "data" })
	res := r.Type.New()
	if err := yamlpos.Decode(&without, res); err != nil {
		return nil, err
	}
	modules.SetName(res, name)
	modules.SetDefaults(res)
	if err := errors.Join(modules.CheckTags(res), res.Validate()); err != nil {
		return nil, manifest.Positioned(r, node, err)
	}
	return json.Marshal(res)
}

// secretValue reports whether a value is made of a secret, or of the result of a sensitive resource.
func (in *scope) secretValue(x *expansion, r *manifest.Resource, env *templates.Env, e *wire.Entry, value *yamlpos.Node) bool {
	switch {
	case in.revealed, in.sensitive, r.Sensitive != nil && e.Sensitive:
		return true
	case len(x.results.called) > 0 && x.results.secrets(x.compiler.resultUse(r, in).all):
		return true
	}
	inputs := r.Properties.InputsOf(value, env.Files)
	return in.reads(inputs, in.itemSecrets(r, env)) || in.readsOuter(inputs, r, env)
}

// mayFail reports whether an entry from first on may fail on the host.
func (d *draft) mayFail(first int) bool {
	for i := first; i < len(d.entries); i++ {
		if e := &d.entries[i]; !e.Excluded && (!manifest.Sets(d.origins[i].resource.Type) || len(e.Health) > 0) {
			return true
		}
	}
	return false
}

// refresh adds the values that were set since the last resource to a scope, and to the data that is made of them.
func (in *scope) refresh(ctx context.Context, v *sets.Values) error {
	base, over, secrets, changed := in.view.See(v, func() sets.Base { return sets.Base{Values: in.values, Secrets: in.secrets} })
	if !changed {
		return nil
	}
	values, err := base.Values.Inner(ctx, in.env, over)
	if err != nil {
		return err
	}
	in.env = templates.WithData(in.env, values.Data(), values.KeyOrder)
	in.values, in.secrets = values, secrets
	in.spread(nil)
	return nil
}

// setKeys returns the keys that resources of a play set, as far as they are known before any host is.
func setKeys(resources []*manifest.Resource) map[string]bool {
	keys := map[string]bool{}
	manifest.Walk(resources, func(r *manifest.Resource, _ int) {
		for _, v := range r.PropertySet().SetValues() {
			keys[v.Key.Text] = true
		}
	})
	return keys
}

// setFromHost returns the keys that resources of a play may set to values from a host. sources are the data around them.
// Keys of different manifests with one name count as one, since all manifests see a value that is set.
func setFromHost(resources []*manifest.Resource, sources []templates.Source) map[string]bool {
	set := map[string]bool{}
	if len(setKeys(resources)) == 0 {
		return set
	}
	manifest.Walk(resources, func(r *manifest.Resource, _ int) {
		if r.Child != nil {
			sources = append(sources, r.Child.Data)
		}
	})
	given := map[string]bool{} // to manifests that are applied
	for before := -1; before < len(set)+len(given); {
		before = len(set) + len(given)
		tainted := maps.Clone(set)
		maps.Copy(tainted, given)
		tainted = templates.KeysFromHost(tainted, sources...)
		manifest.Walk(resources, func(r *manifest.Resource, _ int) {
			for _, key := range r.Taint(tainted, sources...).Set() {
				set[key] = true
			}
			if r.Applies() && r.DataGiven() != nil {
				maps.Copy(given, r.Taint(tainted, sources...).Nested())
			}
		})
	}
	return set
}
