package catalog

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog/sets"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/templates"
)

// nested expands a resource that applies a manifest: first the entries of the manifest, then e, the entry of the
// resource. It returns the index of that entry, or -1 without one. edges is set if the resources of the manifest take
// part in automatic edges.
func (x *expansion) nested(ctx context.Context, r *manifest.Resource, in *scope, env *templates.Env, e wire.Entry, o origin, edges bool) int {
	before := len(x.errs)
	node, err := r.Properties.Resolve(ctx, env)
	var ask modules.Nest
	if err == nil {
		ask, err = nestOf(r, e.Name, node)
	}
	if err != nil && node != nil && (e.Sensitive || in.reads(r.Properties.Inputs(env.Files), in.itemSecrets(r, env)) || in.readsOuter(r.Properties.Inputs(env.Files), r, env)) {
		err = withheld(err)
	}
	if x.errs.Add(err); len(x.errs) > before {
		x.unknown(r, e)
		return -1
	}
	if r.Child != nil && !x.known(r.Child.Data.Inputs(), in) {
		if i, awaits := x.awaitOf(ctx, r, in, env, r.Child.Data.Inputs()); awaits {
			return i
		}
	}
	e.Name = source.ShownName(e.Name)
	inner, err := x.enter(ctx, r, in, env, e, ask, node)
	if x.errs.Add(err); err != nil {
		x.unknown(r, e)
		return -1
	}
	inner.noEdges, inner.watch = !edges, o.watch
	if inner.manifest.play.JetFile != nil {
		if i, awaits := x.awaitOf(ctx, r, in, env, inner.manifest.play.GeneratorInputs(inner.env.Files)); awaits {
			return i
		}
	}
	first, note := len(x.draft.entries), len(x.draft.notes)
	pre, post := inner.messages(ctx, &x.errs)
	x.draft.notes = append(x.draft.notes, Note{First: first, Pre: pre, Post: post})
	inner.part, inner.awaits, inner.pending = manifestPart(inner.manifest.play.FailOnError), in.awaits, in.pending
	x.results.sets.Enter(len(e.Require) > 0, func() bool { return inner.part != nil && x.draft.mayFail(first) })
	x.manifest(ctx, inner)
	x.results.sets.Leave()
	x.results.part = in.part
	x.errs.Add(context.Cause(ctx))
	if len(x.errs) > before {
		x.draft.names.unknown(e.Type, e.Name, e.Alias)
		return -1
	}
	own := len(x.draft.entries)
	if own == first && (r.OnlyWithin || r.Unselected) {
		x.draft.notes = x.draft.notes[:note]
		x.leaveOut(r)
		return -1
	}
	x.draft.notes[note].Last = own
	e.Scope = &wire.Scope{Entries: own - first, FailOnError: inner.manifest.play.FailOnError}
	shown := in.shown(r, env)
	shown.Properties = node
	shown.Nested = &Nested{Manifest: inner.manifest.play.File, Layers: inner.values.Layers(), Data: inner.env.Data, Secrets: inner.secrets}
	return x.add(e, o, shown)
}

// nestOf decodes the manifest that a resource applies and its settings, from the resolved properties.
func nestOf(r *manifest.Resource, name string, node *yamlpos.Node) (modules.Nest, error) {
	res := r.Type.New()
	if err := yamlpos.Decode(node, res); err != nil {
		return modules.Nest{}, err
	}
	modules.SetName(res, name)
	modules.SetDefaults(res)
	if err := errors.Join(modules.CheckTags(res), res.Validate()); err != nil {
		return modules.Nest{}, manifest.Positioned(r, node, err)
	}
	return res.(modules.Nester).Nest(), nil
}

// enter is the scope of the manifest that a resource applies.
func (x *expansion) enter(ctx context.Context, r *manifest.Resource, in *scope, env *templates.Env, e wire.Entry, ask modules.Nest, node *yamlpos.Node) (*scope, error) {
	if in.denied {
		return nil, manifest.Denied(r, in.by)
	}
	child, err := in.manifest.play.Nested(ctx, r, r.Name.Node, ask)
	if err != nil {
		return nil, err
	}
	manifests := x.compiler.manifests
	s, err := manifests.applied(in.manifest, r, child)
	if err == nil {
		err = s.checked()
	}
	if err != nil {
		return nil, err
	}
	values, err := nestedValues(ctx, x.compiler, child, in, env, ask, r.DataGiven() != nil, node)
	if err != nil {
		return nil, err
	}
	data, layers := values.Data(), values.Layers()
	if err := checkNestedData(data, layers, manifests.nestedSources(child, r), r); err != nil {
		return nil, err
	}
	inner := &scope{
		manifest: s, by: r, denied: ask.Deny, values: values, secrets: marked(layers), ownSecrets: in.ownSecrets, inventorySecrets: in.inventorySecrets,
		env:     &templates.Env{Facts: in.env.Facts, Data: data, Environ: in.env.Environ, Files: s.files, Inventory: in.env.Inventory, Order: values.KeyOrder},
		require: e.Require, check: e.Check, sensitive: e.Sensitive, monitor: e.Monitor || ask.Monitor,
	}
	if inner.view = in.view.Inner(x.results.sets); r.DataGiven() != nil {
		inner.view = sets.Applied(x.results.sets, ask.Data)
	}
	if r.DataGiven() == nil {
		inner.given = in.given
		inner.secrets.Add(in.secrets)
	} else if item := in.itemSecrets(r, env); in.hasSecrets() || !item.None() {
		inner.secrets.Marked(r.DataGiven(), func(n *yamlpos.Node) bool {
			inputs := r.Properties.InputsOfScalar(n, env.Files)
			return in.reads(inputs, item) || in.readsOuter(inputs, r, env)
		})
	}
	if in.revealed {
		inner.secrets = secret.Everything()
	}
	inner.spread(nil)
	inner.secrets.Each(data, x.compiler.opts.Mask.Add)
	return inner, nil
}

// nestedValues returns the data of a nested manifest: its own, then the data that the resource passes or, if it passes none,
// all data of the manifest that applies it.
func nestedValues(ctx context.Context, c *Compiler, child *manifest.Play, parent *scope, env *templates.Env, ask modules.Nest, given bool, node *yamlpos.Node) (*templates.Scope, error) {
	layers, err := child.Data.Layers(ctx, env.Facts, env.Inventory)
	if err != nil {
		return nil, err
	}
	for i := range layers {
		layers[i].Name = "nested " + layers[i].Name
	}
	if !given {
		return parent.values.Applied(ctx, env, layers)
	}
	if hiera := c.opts.Hiera; hiera != nil {
		more, err := hiera.Layers(ctx, env.Facts, env.Inventory)
		if err != nil {
			return nil, err
		}
		layers = append(layers, templates.Stack("--hiera", more))
	}
	layers = append(layers, templates.Layer{Name: "apply", Values: ask.Data, Node: node.Get("data"), Deep: true})
	return templates.NewScope(ctx, &templates.Env{Facts: env.Facts, Inventory: env.Inventory}, layers, c.scopes)
}

// checkNestedData holds the data of a nested manifest against the annotations of its
// sources.
func checkNestedData(data map[string]any, layers []templates.Layer, sources []templates.Source, by *manifest.Resource) error {
	var errs yamlpos.Errors
	for _, source := range sources {
		errs.Add(source.Check(data, layers))
	}
	for i, e := range errs {
		if by.DataGiven() != nil { // the hints about the inventory do not apply then
			e := *e
			e.Hint = "give it in the data of " + by.Name.Node.Pos()
			errs[i] = &e
		}
	}
	return manifest.Distinct(errs)
}
