package catalog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog/sets"
	"github.com/ccm-push/ccm-push/playbooks/graph"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/playbooks/registry"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/playbooks/watch"
	"github.com/ccm-push/ccm-push/templates"
)

// A draft is one host's catalog under way: its entries, and what the steps after
// [Compiler.expand] need to know of them.
type draft struct {
	entries []wire.Entry
	origins []origin // origins of the entries
	names   names
	notes   []Note
	turns   []graph.Edge // between the parts of blocks, in a graph

	uncompiled []uncompiled

	until     int            // see [wire.Catalog]
	remember  *wire.Remember // data that the host remembers; nil means none
	contents  Contents
	bundles   []*bundle // folders resources/ that its resources need
	needsFull bool
	onlyCheck bool // see [Compiled.Size]
	size      int64
}

// An origin is where an entry is from, and what of it is not in the entry.
type origin struct {
	resource   *manifest.Resource
	shared     bool        // another host had the same properties
	refs       *references // nil if no unresolved ones are left
	batch      string      // see [graph.Vertex]
	relations  []modules.Relation
	restarts   time.Duration // how long the host may be away for it
	longest    time.Duration // [modules.Limited]
	runsOnce   bool          // its command is not safe to repeat
	watch      *watch.Rules  // nil means the play's rules
	registers  []registry.Registration
	uncompiled error             // why an unselected resource has no entries but this one; nil if it has them
	elsewhere  *Compiled         // catalog for the host where it runs; nil if that is the host that it is for
	shown      *RenderedResource // nil unless the catalog is rendered for people
}

// Bounds of one host's catalog. A list that a host reports about itself, under
// each, must not fill the controller's memory.
const (
	maxEntries = 100_000
	maxSize    = 48 << 20 // bytes; the wire takes a catalog of 64 MiB
	maxErrors  = 100
)

// A scope is the manifest whose resources are expanded, with the applying resource's settings for all of them.
type scope struct {
	manifest         *loadedManifest
	env              *templates.Env
	values           *templates.Scope   // scope that env.Data is from
	given            map[string]bool    // keys of env.Data that -e sets, which nothing overrides
	own              []string           // keys of env.Data with values for one resource alone; else nil
	by               *manifest.Resource // applying resource; nil for the play itself
	denied           bool               // it may not apply others
	secrets          secret.Paths       // in env.Data
	ownSecrets       secret.Paths       // secrets in the host's variables of the inventory
	view             sets.View          // the values that were set on the way, as far as env has them
	inventorySecrets bool               // set if other hosts' variables have secrets
	revealed         bool               // its resources are written by a template that reads secrets

	require                   []int
	check, sensitive, monitor bool
	watch                     *watch.Rules // rules for resources that set none
	noEdges                   bool         // none of its resources takes part in automatic edges

	part    *part // part of its resources, if the first failure ends it; else nil
	awaits  []int // the entries by whose results it is decided whether its resources are managed at all
	pending bool  // set if they are not known yet
}

// An expansion makes the entries of a play's resources for one host, in the written order: entries of a nested manifest
// are right before the entry of the applying resource.
type expansion struct {
	compiler  *Compiler
	draft     *draft
	host      string     // its name
	inGraph   bool       // the play's strategy, which nested manifests share
	downloads *Downloads // nil where nothing is applied
	show      bool       // set to also make the view for people
	results   results
	size      int64
	errs      yamlpos.Errors
}

// expand makes the entries of all resources that are selected for a host.
func (c *Compiler) expand(ctx context.Context, top *scope, h Host, show bool) (*draft, yamlpos.Errors) {
	last := int(c.entries.Load())
	d := &draft{
		entries: slices.Grow([]wire.Entry(nil), last), origins: slices.Grow([]origin(nil), last),
		names: newNames(last),
	}
	if p := c.play; p.RememberedAs != nil {
		d.remember = &wire.Remember{As: p.RememberedAs.Text, Whole: p.Whole()}
	}
	x := &expansion{compiler: c, draft: d, host: h.Name, inGraph: c.play.Graph(), show: show}
	if !h.checked {
		x.downloads = c.opts.Downloads
	}
	if c.registers {
		x.results = results{had: h.Results, shown: top.env.Inventory}
	}
	x.results.sets = sets.New(h.Results, c.given)
	top.part = manifestPart(c.play.FailOnError)
	x.manifest(ctx, top)
	x.addUncompiled()
	d.size = x.size
	if d.until = x.results.until; d.until > 0 {
		x.notWhole() // resources that have left the manifest are known at the end
	}
	return d, x.errs
}

// manifest expands the resources of a manifest, or the resources that its template writes for the host.
func (x *expansion) manifest(ctx context.Context, in *scope) {
	resources := in.manifest.play.Resources
	if in.manifest.play.JetFile != nil {
		reads := in.hasSecrets() && in.reads(in.manifest.play.GeneratorInputs(in.env.Files), secret.Paths{})
		generated, err := in.manifest.play.Generate(ctx, in.env)
		if err != nil && reads {
			err = withheld(err)
		}
		x.errs.Add(err)
		if reads {
			with := *in
			with.revealed, in = true, &with
		}
		for _, r := range generated {
			manifest.WalkFile([]*manifest.Resource{r}, func(r *manifest.Resource) {
				x.errs.Add(in.manifest.taint(r).CheckPaths(in.manifest.files))
			})
		}
		resources = generated
	}
	x.list(ctx, resources, in)
}

// list expands resources in their order.
func (x *expansion) list(ctx context.Context, resources []*manifest.Resource, in *scope) {
	for _, r := range resources {
		x.results.part = in.part
		x.errs.Add(in.refresh(ctx, x.results.sets))
		x.resource(ctx, r, in)
		if x.full() || in.by != nil && ctx.Err() != nil {
			break
		}
	}
}

// full reports whether to go no further: with all those errors, or at a bound,
// which is then one more of them.
func (x *expansion) full() bool {
	if len(x.errs) >= maxErrors {
		return true
	}
	if len(x.draft.entries) <= maxEntries && x.size <= maxSize {
		return false
	}
	x.errs.Add(fmt.Errorf("the catalog has grown beyond %d resources or %d MiB", maxEntries, maxSize>>20))
	return true
}

// resource expands one resource into its entries: one, or with each one per element.
func (x *expansion) resource(ctx context.Context, r *manifest.Resource, in *scope) {
	switch {
	case r.LeftOut(), r.Unselected && x.show: // people see only selected resources
		x.leaveOut(r)
	case r.Unselected:
		x.unselected(ctx, r, in)
	case r.Each == nil:
		scopedEntry(ctx, x, r, in, in.env)
	default:
		x.each(ctx, r, in)
	}
}

// unselected expands a resource that is not selected and that others may refresh. It may need what only the
// whole play has: then the host gets no more than its name and its subscriptions, so that a refresh
// stays due.
func (x *expansion) unselected(ctx context.Context, r *manifest.Resource, in *scope) {
	before, first, notes := len(x.errs), len(x.draft.entries), len(x.draft.notes)
	parts := r.Each != nil || r.Child != nil || r.Applies() // it has several entries
	switch {
	case r.Each != nil:
		x.each(ctx, r, in)
	case parts || r.Refresh == wire.RefreshNow:
		scopedEntry(ctx, x, r, in, in.env)
	default:
		x.errs.Add(x.refreshLater(ctx, r, in, in.env))
	}
	if len(x.errs) > before && !parts && r.Refresh == wire.RefreshNow {
		x.errs = x.errs[:before]
		x.errs.Add(x.refreshLater(ctx, r, in, in.env))
	}
	if len(x.errs) > before {
		errs := slices.Clone(x.errs[before:])
		x.errs = x.errs[:before]
		x.notCompiled(ctx, r, in.env, first, notes, errs)
	}
}

// refreshLater adds the entry of a resource whose refresh would stay due.
func (x *expansion) refreshLater(ctx context.Context, r *manifest.Resource, in *scope, env *templates.Env) error {
	_, env, ok := within(ctx, x, r, in, env)
	if !ok {
		return nil
	}
	var errs yamlpos.Errors
	e := wire.Entry{Type: r.Type.Name, Name: text(ctx, &r.Name, env, &errs), Unselected: wire.RefreshLater}
	if r.Alias != nil {
		e.Alias = text(ctx, r.Alias, env, &errs)
	}
	e.Action = literalAction(r)
	refs, err := x.refer(ctx, r, env, &e)
	if errs.Add(err); len(errs) > 0 {
		return errs.Err()
	}
	if x.refreshesNever(r, &e) {
		x.leaveOut(r)
		return nil
	}
	x.add(e, origin{resource: r, refs: refs}, RenderedResource{Env: env})
	return nil
}

// refreshesNever reports whether nothing in the catalog refreshes an unselected resource.
func (x *expansion) refreshesNever(r *manifest.Resource, e *wire.Entry) bool {
	return r.Unselected && r.Child == nil && !r.Applies() && !x.inGraph && !x.compiler.play.Notifies() && len(e.Subscribe) == 0
}

// scopedEntry is entry in the scope of the resource, or of the element.
func scopedEntry(ctx context.Context, x *expansion, r *manifest.Resource, in *scope, env *templates.Env) int {
	in, env, ok := within(ctx, x, r, in, env)
	if !ok {
		return -1
	}
	return x.entry(ctx, r, in, env)
}

// entry makes the entry of a resource, or of one element of its each, and returns its number; -1 means none. If control
// excludes the resource, nothing else of it is evaluated.
func (x *expansion) entry(ctx context.Context, r *manifest.Resource, in *scope, env *templates.Env) int {
	before := len(x.errs)
	defer func() {
		in.hideShort(x.errs[before:])
		in.whence(r, env, x.errs[before:])
		if len(x.errs) > before && !r.Unselected {
			x.results.failed(r)
		}
	}()
	use := x.compiler.useOf(r, in, env)
	if x.errs.Add(use.visible); use.visible != nil {
		x.draft.names.anyUnknown = true
		x.leaveOutNested(r)
		return -1
	}
	if i, awaits := x.await(ctx, r, in, env); awaits {
		return i
	}
	switch ok, err := managed(ctx, r, env); {
	case err != nil:
		x.errs.Add(err)
		return -1
	case !ok:
		return x.exclude(ctx, r, in, env)
	}
	e, own, err := evaluate(ctx, r, env)
	x.errs.Add(err)
	e.Sensitive = x.ofSecretResults(r, in) || e.Sensitive || use.secret
	x.errs.Add(x.checkShown(r, in, &e))
	o := origin{resource: r, watch: in.watched(own.Watch, &x.errs)}
	o.refs, err = x.refer(ctx, r, env, &e)
	x.errs.Add(err)
	if r.Refresh == wire.RefreshLater && r.Child == nil && !r.Applies() { // of an each
		e.Unselected = r.Refresh
	}
	if x.refreshesNever(r, &e) {
		x.errs = x.errs[:before]
		x.leaveOut(r)
		return -1
	}
	e.On, err = x.on(ctx, r, env)
	x.errs.Add(err)
	in.inherit(&e)
	if e.Health, err = healthChecks(ctx, r, e.Sensitive, env); err != nil {
		x.errs.Add(err)
	}
	o.registers, err = registrations(ctx, r, e.Sensitive, env)
	x.errs.Add(err)
	switch {
	case len(x.errs) > before && e.Name == "": // its properties would only repeat that
		x.unknown(r, e)
		return -1
	case r.Block != nil:
		return x.block(ctx, r, in, env, e, o)
	case manifest.Sets(r.Type):
		return setValues(ctx, x, r, in, env, e, o)
	case r.Applies():
		return x.nested(ctx, r, in, env, e, o, own.AutoEdge && !in.noEdges)
	}
	p, err := x.properties(ctx, r, in, env, &e)
	if x.errs.Add(err); len(x.errs) > before {
		x.draft.names.unknown(e.Type, e.Name, e.Alias)
		return -1
	}
	x.draft.onlyCheck = x.draft.onlyCheck || p.made.onlyCheck
	e.Action = p.made.action
	e.Sensitive = e.Sensitive || p.made.sensitive
	shown := in.shown(r, env)
	shown.Properties = p.node
	if e.On != "" {
		return x.elsewhere(e, o, p, shown)
	}
	x.take(p.made)
	e.Properties, e.Fetch, o.shared, o.restarts, o.longest, o.runsOnce = p.made.properties, p.made.fetch, p.shared, p.made.restarts, p.made.longest, p.made.runsOnce
	if p.made.batches && own.AutoGroup {
		o.batch = r.Type.Name
	}
	if own.AutoEdge && !in.noEdges {
		o.relations = p.made.related
	}
	return x.add(e, o, shown)
}

// managed evaluates control. Conditions after the first decisive one are not evaluated.
func managed(ctx context.Context, r *manifest.Resource, env *templates.Env) (bool, error) {
	for _, e := range r.If {
		if ok, err := e.Bool(ctx, env); err != nil || !ok {
			return false, err
		}
	}
	for _, e := range r.Unless {
		if not, err := e.Bool(ctx, env); err != nil || not {
			return false, err
		}
	}
	return true, nil
}

// exclude adds the entry of a resource that control excludes, with its name and alias if they can be evaluated: they
// may need missing data.
func (x *expansion) exclude(ctx context.Context, r *manifest.Resource, in *scope, env *templates.Env) int {
	name, err := r.Name.Text(ctx, env)
	if err != nil {
		name = r.Name.Node.Text
		x.notWhole()
	}
	if r.Applies() {
		name = source.ShownName(name)
	}
	x.leaveOutNested(r)
	e := wire.Entry{Type: r.Type.Name, Name: name, Excluded: true}
	if r.Alias != nil {
		e.Alias, _ = r.Alias.Text(ctx, env)
	}
	return x.add(e, origin{resource: r}, in.shown(r, env))
}

// add adds an entry and returns its number. shown has the additional data for people.
func (x *expansion) add(e wire.Entry, o origin, shown RenderedResource) int {
	i := len(x.draft.entries)
	if o.resource.Unselected {
		e.Unselected = cmp.Or(e.Unselected, o.resource.Refresh)
	} else {
		x.register(o.resource, &e, i, shown.Env)
	}
	if x.show {
		whole := shown // allocated on the heap only if the view is shown
		whole.Resource, whole.Entry = o.resource, e
		if o.resource.Watch() != nil {
			whole.Watch = o.watch
		}
		o.shown = &whole
	}
	x.draft.entries, x.draft.origins = append(x.draft.entries, e), append(x.draft.origins, o)
	x.draft.names.add(&e, i)
	const indexSize = 8 // bytes, of each reference
	x.size += int64(len(e.Name) + len(e.Alias) + len(e.Properties) + indexSize*(len(e.Require)+len(e.Subscribe)))
	for _, c := range e.Health {
		for _, word := range c.Argv {
			x.size += int64(len(word))
		}
		x.size += int64(len(c.Rules))
		x.draft.needsFull = x.draft.needsFull || c.Rules != nil
	}
	return i
}

// take adds the prepared contents, made for this host or an equal one, to the contents that the host may request.
func (x *expansion) take(made *prepared) {
	c := &x.draft.contents
	c.texts, c.files, c.downloads = merged(c.texts, made.texts), merged(c.files, made.files), merged(c.downloads, made.downloads)
	c.from = x.downloads
	x.size += made.size
	x.draft.bundles = withBundle(x.draft.bundles, made.bundle)
	x.draft.needsFull = x.draft.needsFull || made.needsFull
}

func merged[V any](into, from map[string]V) map[string]V {
	if into == nil && len(from) > 0 {
		into = map[string]V{}
	}
	maps.Copy(into, from)
	return into
}

// inherit applies the settings for all resources of the entry's manifest, or of its block, to the entry.
func (in *scope) inherit(e *wire.Entry) {
	if len(in.require) == 0 && !in.check && !in.sensitive && !in.monitor {
		return
	}
	e.Require = graph.Distinct(slices.Concat(in.require, e.Require))
	e.Check, e.Sensitive, e.Monitor = e.Check || in.check, e.Sensitive || in.sensitive, e.Monitor || in.monitor
}

// leaveOut notes the names of a resource that is not selected.
func (x *expansion) leaveOut(r *manifest.Resource) {
	if r.DependsOnHost() {
		x.draft.names.unknown(r.Type.Name, "", "")
		x.notWhole()
	}
	for _, name := range r.LiteralNames() {
		x.draft.names.unknown(r.Type.Name, name, "")
		if x.draft.remember != nil {
			x.draft.remember.Kept = append(x.draft.remember.Kept, r.Type.Name+"#"+name)
		}
	}
	x.leaveOutNested(r)
}

// leaveOutNested notes the names of the resources that an omitted resource applies.
func (x *expansion) leaveOutNested(r *manifest.Resource) {
	if r.Unknown() {
		x.draft.names.anyUnknown = true
		x.notWhole()
	}
	if r.Child != nil {
		for _, one := range r.Child.Resources {
			x.leaveOut(one)
		}
	}
}

// unknown notes that neither a resource nor the resources that it applies are in the catalog.
func (x *expansion) unknown(r *manifest.Resource, e wire.Entry) {
	x.draft.names.unknown(e.Type, e.Name, e.Alias)
	x.leaveOutNested(r)
}

// notWhole notes that the play has resources without an entry whose names are not known.
func (x *expansion) notWhole() {
	if x.draft.remember != nil {
		x.draft.remember.Whole = false
	}
}
