package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/templates"
)

// topScope is the scope of the play itself, with the data of a host.
func (c *Compiler) topScope(ctx context.Context, h Host) (*scope, error) {
	facts := h.Facts
	if len(c.opts.Facts) > 0 {
		facts = templates.DeepMerge(facts, c.opts.Facts)
	}
	var inventory *templates.Inventory
	if c.opts.Inventory != nil {
		inventory = c.opts.Inventory(h.Name)
	}
	layers, err := c.layers(ctx, h, facts, inventory)
	if err != nil {
		return nil, err
	}
	values, err := templates.NewScope(ctx, &templates.Env{Facts: facts, Inventory: inventory}, layers, c.scopes)
	if err != nil {
		return nil, err
	}
	data := values.Data()
	var errs yamlpos.Errors
	for _, s := range c.dataSources() {
		errs.Add(s.Check(data, layers)) // against the annotations of the source
	}
	if err := manifest.Distinct(errs); err != nil {
		return nil, err
	}
	if c.registers { // the data, which came before, sees no results
		with := templates.Inventory{}
		if inventory != nil {
			with = *inventory
		}
		inventory = &with
	}
	env := &templates.Env{Facts: facts, Data: data, Environ: c.opts.Environ, Files: c.root.files, Inventory: inventory, Order: values.KeyOrder}
	in := &scope{manifest: c.root, env: env, values: values, given: c.given, secrets: marked(layers), inventorySecrets: c.opts.InventorySecrets}
	in.ownSecrets.Add(ofInventory(h), "vars")
	in.secrets.Add(ofInventory(h))
	in.spread(nil)
	in.secrets.Each(data, c.opts.Mask.Add)
	rules, err := c.play.WatchRules(ctx, env, c.watchRules())
	in.watch = &rules
	return in, err
}

// layers are the data of a host, low to high.
func (c *Compiler) layers(ctx context.Context, h Host, facts map[string]any, inventory *templates.Inventory) ([]templates.Layer, error) {
	layers, err := c.play.Data.Layers(ctx, facts, inventory)
	if err != nil {
		return nil, err
	}
	for _, over := range c.play.Over {
		more, err := over.Layers(ctx, facts, inventory)
		if err != nil {
			return nil, err
		}
		layers = append(layers, more...)
	}
	if c.opts.Hiera != nil {
		more, err := c.opts.Hiera.Layers(ctx, facts, inventory)
		if err != nil {
			return nil, err
		}
		layers = append(layers, templates.Stack("--hiera", more))
	}
	if h.Layers != nil {
		for _, l := range h.Layers {
			layers = append(layers, c.opts.Variables.Layer(l, c.ReadsData))
		}
	} else {
		layers = append(layers, templates.Layer{Name: "inventory", Values: h.Vars})
	}
	for _, extra := range c.extra {
		more, err := extra.Layers(ctx, facts, inventory)
		if err != nil {
			return nil, err
		}
		layers = append(layers, more...)
	}
	return layers, nil
}

// demandsData reports whether the play can read what lies at a path of the data, or holds it
// against an annotation.
func (c *Compiler) demandsData(path string) bool {
	demands := func(s templates.Source) bool { return s.Demands(path) }
	return c.ReadsData(path) || slices.ContainsFunc(c.dataSources(), demands) || slices.ContainsFunc(c.nested, demands)
}

// Sealed lists the sealed values of the data that the play can read on every host. over reports whether the inventory
// may set a key.
func (c *Compiler) Sealed(over func(key string) bool) (nodes []*yamlpos.Node) {
	above := func(sources []templates.Source, key string) bool {
		return over(key) || slices.ContainsFunc(sources, func(s templates.Source) bool { return s.Sets(key) })
	}
	all := c.dataSources()
	for i, s := range all {
		nodes = append(nodes, s.Sealed(c.ReadsData, func(key string) bool { return above(all[i+1:], key) })...)
	}
	return nodes
}

// dataSources are the sources of data of the play, of --hiera and of -e.
func (c *Compiler) dataSources() []templates.Source {
	sources := append([]templates.Source{c.play.Data}, c.play.Over...)
	if c.opts.Hiera != nil {
		sources = append(sources, *c.opts.Hiera)
	}
	return append(sources, c.extra...)
}

// envFile is the file next to the manifest with more variables of Environ.
const envFile = ".env"

// withEnvFile returns Environ for a play: the controller's environment, overridden by the file next to its manifest.
func withEnvFile(environ map[string]any, files *templates.Files) (map[string]any, error) {
	text, err := files.Read(envFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return environ, nil
	case err != nil:
		return nil, fmt.Errorf("more variables for Environ: %w\n  hint: --no-read-env leaves that file out", err)
	}
	all := maps.Clone(environ)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, envVariables(string(text)))
	return all, nil
}

// envVariables reads lines NAME=VALUE, optionally with export before them. It removes quotes around a whole value;
// nothing else has a special meaning. It ignores other lines, as CCM does: the file may be for another program.
func envVariables(text string) map[string]any {
	variables := map[string]any{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if !ok || name == "" || strings.HasPrefix(line, "#") {
			continue
		}
		variables[name] = unquoted(strings.TrimSpace(value))
	}
	return variables
}

func unquoted(value string) string {
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// noteScopes notes which values resources, and the manifests that they apply, may set for a part of the play.
func noteScopes(scopes *templates.ScopeOptions, resources []*manifest.Resource) {
	for _, r := range resources {
		for _, v := range r.PropertySet().SetValues() {
			scopes.Later = append(scopes.Later, v.Key.Text)
		}
		scopes.Items = scopes.Items || r.Each != nil || r.Unknown()
		if r.Vars != nil {
			scopes.Later = append(scopes.Later, r.Vars.Keys()...)
		}
		if r.Child != nil && r.Block == nil && r.DataGiven() == nil {
			scopes.Later = append(scopes.Later, r.Child.Data.Keys()...)
		}
	}
}

// within returns the scope and the environment of a resource, or of one element of its each: with its own vars, and with
// the data that is made of them or of the element. They are in and env if the resource changes nothing. ok is false
// after an error, which within adds to the errors of x.
func within(ctx context.Context, x *expansion, r *manifest.Resource, in *scope, env *templates.Env) (_ *scope, _ *templates.Env, ok bool) {
	var over []templates.Layer
	var err error
	switch {
	case r.Vars != nil:
		over, err = r.Vars.Layers(ctx, env.Facts, env.Inventory)
	case env == in.env || !in.values.ReadsItem():
		return in, env, true
	}
	if err == nil {
		in, env, err = override(ctx, x, r, in, env, over)
	}
	if x.errs.Add(err); err != nil {
		x.draft.names.unknown(r.Type.Name, "", "")
		x.leaveOutNested(r)
	}
	return in, env, err == nil
}

// override returns a scope within in, and its environment, which has the Item of env. The layers override the data, except
// the values of -e. r is the resource that the layers are read for. A part of a play that sets values for everything after
// it continues with the returned scope.
func override(ctx context.Context, x *expansion, r *manifest.Resource, in *scope, env *templates.Env, over []templates.Layer) (*scope, *templates.Env, error) {
	for i, l := range over {
		over[i] = l.Without(in.given)
	}
	values, err := in.values.Inner(ctx, env, over...)
	if err != nil {
		return in, env, err
	}
	inner := *in
	inner.values, inner.own, inner.view = values, values.Own(), in.view.Inner(x.results.sets, over...)
	inner.env = templates.WithData(env, values.Data(), values.KeyOrder)
	inner.secrets = secret.Paths{}
	inner.secrets.Add(in.secrets)
	item := in.itemSecrets(r, env)
	if in.hasSecrets() || len(x.results.called) > 0 {
		inner.spread(func(reads templates.Inputs) bool {
			return in.reads(reads, item) || in.readsOuter(reads, r, env) || x.results.secrets(reads)
		})
		own := map[string]any{}
		for _, key := range inner.own {
			own[key] = values.Data()[key]
		}
		inner.secrets.Each(own, x.compiler.opts.Mask.Add)
	}
	return &inner, inner.env, nil
}

// shown returns the view for people of a resource in this scope, without its properties.
func (in *scope) shown(r *manifest.Resource, env *templates.Env) RenderedResource {
	return RenderedResource{Env: env, Layers: in.values.Layers(), Secrets: in.secrets, Item: in.itemSecrets(r, env), Own: in.own}
}
