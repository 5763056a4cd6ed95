package catalog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/templates"
)

// A site is the play, or a manifest that it applies, with the folder that its
// files are read from.
type site struct {
	play    *manifest.Play
	files   *templates.Files
	sources *sources
	tainted map[string]bool // keys of the data that are made of facts
	checked func() error    // what every host would stumble over, found out once
	bundled func() *bundle  // the folder resources/; nil if there is none
	memos   sync.Map        // see [modules.Source].Memo
}

// folders are the folders of a play and of the manifests that it applies, each
// opened once.
type folders struct {
	mu    sync.Mutex
	open  map[string]*folder
	sites map[siteKey]*site // of nested manifests

	unions map[string]*bundle // see [folders.union]
}

// A siteKey is a nested manifest and the keys of its data that are made of facts:
// of those that apply the same one, each says for itself which these are.
type siteKey struct {
	play    *manifest.Play
	tainted string
}

type folder struct {
	files   *templates.Files
	sources *sources
}

func (f *folders) folder(path string) (*folder, error) {
	if known := f.open[path]; known != nil {
		return known, nil
	}
	files, err := templates.Open(path)
	if err != nil {
		return nil, err
	}
	src, err := openSources(path)
	if err != nil {
		files.Close()
		return nil, err
	}
	f.open[path] = &folder{files, src}
	return f.open[path], nil
}

func (f *folders) close() {
	for _, one := range f.open {
		one.files.Close()
		one.sources.close()
	}
}

// site gives the site of a manifest that a resource of another one applies.
func (c *Compiler) site(parent *site, r *manifest.Resource, child *manifest.Play) (*site, error) {
	tainted := map[string]bool{}
	for _, source := range c.nestedSources(child, r) {
		maps.Copy(tainted, source.FromHost())
	}
	maps.Copy(tainted, r.NestedFromHost(parent.tainted))
	key := siteKey{child, strings.Join(slices.Sorted(maps.Keys(tainted)), "\x00")}
	c.folders.mu.Lock()
	defer c.folders.mu.Unlock()
	if known := c.folders.sites[key]; known != nil {
		return known, nil
	}
	folder, err := c.folders.folder(child.Folder)
	if err != nil {
		return nil, err
	}
	s := &site{play: child, files: folder.files, sources: folder.sources, tainted: tainted, bundled: folder.sources.bundled}
	s.checked = sync.OnceValue(func() error { return c.checkSite(s) })
	c.folders.sites[key] = s
	return s, nil
}

// nestedSources are the sources of data of a nested manifest, but for what the
// resource that applies it gives.
func (c *Compiler) nestedSources(child *manifest.Play, r *manifest.Resource) []templates.Source {
	sources := []templates.Source{child.Data}
	if c.opts.Hiera != nil && r.DataGiven() != nil { // otherwise the parent's data has it
		sources = append(sources, *c.opts.Hiera)
	}
	return sources
}

// eachSite visits the sites of the manifests that are applied below one, as far as
// they are known before any host is.
func (c *Compiler) eachSite(parent *site, visit func(*site)) error {
	for _, r := range parent.play.Resources {
		if r.Child == nil || r.Unselected {
			continue
		}
		s, err := c.site(parent, r, r.Child)
		if err != nil {
			return err
		}
		visit(s)
		if err := c.eachSite(s, visit); err != nil {
			return err
		}
	}
	return nil
}

// A nest is the manifest whose resources are being compiled, and what the resource
// that applies it says of them all.
type nest struct {
	*site
	env       *templates.Env
	layers    []templates.Layer // of its data
	by        *manifest.Resource
	denied    bool // it may not apply others
	require   []int
	check     bool
	sensitive bool
	monitor   bool
	noEdges   bool // none of its resources takes part in automatic edges
}

// A Note is the messages of a nested manifest; "" if there is none.
type Note struct {
	First, Last int // its entries; the last one is that of the resource that applies it
	Pre, Post   string
}

// nested compiles a resource that applies a manifest: the entries of that, and
// then its own. It returns the number of its own; -1 if it has none.
func (p *compilation) nested(ctx context.Context, r *manifest.Resource, e modules.Entry, env *templates.Env) int {
	before := len(p.errs)
	node, err := r.Properties.Resolve(ctx, env)
	var ask modules.Nest
	if err == nil {
		ask, err = asked(r, e.Name, node)
	}
	if err != nil && e.Sensitive && node != nil {
		err = withheld(err)
	}
	if p.errs.Add(err); len(p.errs) > before {
		p.unknownNest(r, e)
		return -1
	}
	e.Name = source.ShownName(e.Name)
	inner, err := p.enter(ctx, r, e, ask, node)
	if p.errs.Add(err); err != nil {
		p.unknownNest(r, e)
		return -1
	}
	first, note := len(p.out.Catalog.Entries), len(p.out.Notes)
	pre, post := p.text(ctx, inner.play.Pre, inner.env), p.text(ctx, inner.play.Post, inner.env)
	p.out.Notes = append(p.out.Notes, Note{First: first, Pre: pre, Post: post})
	outer := p.at
	p.at = inner
	for _, one := range p.resources(ctx) {
		if p.resource(ctx, one); p.full() || ctx.Err() != nil {
			break
		}
	}
	p.at = outer
	p.errs.Add(context.Cause(ctx))
	if len(p.errs) > before {
		p.unknown(e)
		return -1
	}
	own := len(p.out.Catalog.Entries)
	if own == first && r.OnlyWithin {
		p.out.Notes = p.out.Notes[:note]
		p.leaveOut(r)
		return -1
	}
	p.out.Notes[note].Last = own
	e.Scope = &modules.Scope{Entries: own - first, FailOnError: inner.play.FailOnError}
	p.add(r, e, node)
	if p.shown != nil {
		shown := &p.shown.Resources[len(p.shown.Resources)-1]
		shown.Nested = &Nested{Manifest: inner.play.File, Layers: inner.layers, Data: inner.env.Data}
	}
	return own
}

// asked gives what a resource asks for, once its properties are resolved.
func asked(r *manifest.Resource, name string, node *yamlpos.Node) (modules.Nest, error) {
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

// enter gives the nest of the manifest that a resource applies.
func (p *compilation) enter(ctx context.Context, r *manifest.Resource, e modules.Entry, ask modules.Nest, node *yamlpos.Node) (*nest, error) {
	if p.at.denied {
		return nil, manifest.Denied(r, p.at.by)
	}
	child, err := p.at.play.Nested(ctx, r, r.Name.Node, ask)
	if err != nil {
		return nil, err
	}
	s, err := p.site(p.at.site, r, child)
	if err == nil {
		err = s.checked()
	}
	if err != nil {
		return nil, err
	}
	n := &nest{
		site: s, by: r, denied: ask.Deny,
		require: e.Require, check: e.Check, sensitive: e.Sensitive, monitor: e.Monitor || ask.Monitor,
		noEdges: !p.autoedge,
	}
	data, err := p.nestedData(ctx, n, ask, r.DataGiven() != nil, node)
	n.env = &templates.Env{Facts: p.at.env.Facts, Data: data, Environ: p.at.env.Environ, Files: s.files}
	return n, err
}

// nestedData resolves the data of a nested manifest: its own, and over that what
// the resource gives or, if that gives none, all that its parent has.
func (p *compilation) nestedData(ctx context.Context, n *nest, ask modules.Nest, given bool, node *yamlpos.Node) (map[string]any, error) {
	layers, err := n.play.Data.Layers(ctx, p.at.env.Facts)
	if err != nil {
		return nil, err
	}
	for i := range layers {
		layers[i].Name = "nested " + layers[i].Name
	}
	switch {
	case !given:
		layers = append(layers, templates.Layer{Name: "parent", Values: p.at.env.Data, Deep: true, From: p.at.layers})
	case p.opts.Hiera != nil:
		more, err := p.opts.Hiera.Layers(ctx, p.at.env.Facts)
		if err != nil {
			return nil, err
		}
		layers = append(layers, templates.Stack("--hiera", more))
		fallthrough
	default:
		layers = append(layers, templates.Layer{Name: "apply", Values: ask.Data, Node: node.Get("data"), Deep: true})
	}
	data := templates.Merge(layers)
	n.layers = layers
	var errs yamlpos.Errors
	for _, source := range p.nestedSources(n.play, n.by) {
		errs.Add(source.Check(data))
	}
	for i, e := range errs {
		if given { // what the hints say of the inventory is of no use then
			e := *e
			e.Hint = "give it in the data of " + n.by.Name.Node.Pos()
			errs[i] = &e
		}
	}
	return data, manifest.Distinct(errs)
}

// inherit gives an entry what is said of all resources of its manifest.
func (p *compilation) inherit(e *modules.Entry) {
	if p.at.by == nil {
		return
	}
	e.Require = distinct(slices.Concat(p.at.require, e.Require))
	e.Check, e.Sensitive, e.Monitor = e.Check || p.at.check, e.Sensitive || p.at.sensitive, e.Monitor || p.at.monitor
}

// distinct drops what a list has already.
func distinct(list []int) []int {
	seen := make(map[int]bool, len(list))
	var kept []int
	for _, i := range list {
		if !seen[i] {
			seen[i] = true
			kept = append(kept, i)
		}
	}
	return kept
}

// unknownNest notes that neither a resource nor what it applies is in the catalog.
func (p *compilation) unknownNest(r *manifest.Resource, e modules.Entry) {
	p.unknown(e)
	p.leaveOutNest(r)
}

// leaveOutNest notes the names of what a resource applies, which is not in the
// catalog.
func (p *compilation) leaveOutNest(r *manifest.Resource) {
	if r.Unknown() {
		p.unseenAll = true
		p.notWhole()
	}
	if r.Child != nil {
		for _, one := range r.Child.Resources {
			p.leaveOut(one)
		}
	}
}
