package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// A Host is what compilation knows of one host.
type Host struct {
	Name   string
	Facts  map[string]any    // plain JSON values
	Vars   map[string]any    // of the inventory, merged
	Layers []templates.Layer // the same before merging, where values shall be explained; else nil
}

// A Compiler makes the catalogs of one play. It may be used by many goroutines
// at once.
type Compiler struct {
	root    *site
	opts    Options
	folders *folders
	memo    memo
	parts   parts

	entries atomic.Int64 // of the last catalog, which the next one will be like

	inputs    templates.Inputs // of the play and what it applies, but for its data
	factPaths []string         // that the play and what it applies can read
	allFacts  bool             // when it cannot be known which
}

// Options are what a run adds to a play.
type Options struct {
	Environ map[string]any    // the controller's, for Environ in expressions
	EnvFile bool              // whether .env beside the manifest has more of them
	Extra   []templates.Layer // -e: over everything
	Facts   map[string]any    // --facts: over those of every host
	Hiera   *templates.Source // --hiera: over the play's data; nil if there is none
	// Downloads gets what hosts are promised; nil where nothing is applied.
	Downloads *Downloads
}

// New opens the play's folder. What every host would stumble over, a file or a
// template that is not there, is an error here.
func New(play *manifest.Play, opts Options) (*Compiler, error) {
	c := &Compiler{opts: opts, folders: &folders{open: map[string]*folder{}, sites: map[siteKey]*site{}}}
	folder, err := c.folders.folder(play.Folder)
	if err != nil {
		return nil, err
	}
	c.root = &site{play: play, files: folder.files, sources: folder.sources, tainted: map[string]bool{}, bundled: folder.sources.bundled}
	if opts.EnvFile {
		c.opts.Environ, err = withEnvFile(opts.Environ, folder.files)
	}
	if err := errors.Join(err, c.programs(play.Programs)); err != nil {
		c.Close()
		return nil, err
	}
	c.root.checked = func() error { return c.checkSite(c.root) }
	for _, s := range c.dataSources() {
		c.reads(s.Facts())
		maps.Copy(c.root.tainted, s.FromHost())
	}
	c.reads(play.Facts(folder.files))
	c.inputs = play.Inputs(folder.files)
	errs := yamlpos.Errors{}
	errs.Add(c.root.checked())
	err = c.eachSite(c.root, func(s *site) {
		c.reads(s.play.Facts(s.files))
		c.inputs.Add(s.play.Inputs(s.files))
		c.reads(s.play.Data.Facts())
		errs.Add(s.checked())
	})
	errs.Add(err)
	if err := manifest.Distinct(errs); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// reads notes which facts are read.
func (c *Compiler) reads(paths []string, all bool) {
	c.factPaths, c.allFacts = append(c.factPaths, paths...), c.allFacts || all
}

// Facts gives the paths of the facts that the play can read; all is set when
// that cannot be known.
func (c *Compiler) Facts() (paths []string, all bool) { return c.factPaths, c.allFacts }

// ReadsData reports whether the play, or what it applies, can read what lies at a path
// of the data, above it or below it.
func (c *Compiler) ReadsData(path string) bool { return c.inputs.ReadsData(path) }

// NeedsFull reports whether it is known of every host of the play that it needs
// the full host program.
func (c *Compiler) NeedsFull() bool {
	return slices.ContainsFunc(c.root.play.Resources, (*manifest.Resource).NeedsFull)
}

// Close closes the play's folder, and those of the manifests that it applies.
func (c *Compiler) Close() {
	c.folders.close()
}

// Compiled is a play made ready for one host.
type Compiled struct {
	Catalog   modules.Catalog // Check, Diff and Lock are for the run to set
	Pre, Post string          // messages; "" if there is none
	Notes     []Note          // messages of nested manifests, in the order of their first entries
	Contents  Contents        // what the host may ask for
	NeedsFull bool            // the lean host program cannot carry it out
	// Imports are, by the index of the entry, what it receives from other hosts: its
	// Receives with From -1.
	Imports map[int][]Import

	common []bool // by entry: another host had the same properties
	parts  *parts // of the compiler
}

// Compile resolves the play for one host. The errors carry positions.
func (c *Compiler) Compile(ctx context.Context, h Host) (*Compiled, error) {
	return c.compile(ctx, h.with(c.opts.Facts), nil)
}

// with is the host with more facts laid over its own.
func (h Host) with(facts map[string]any) Host {
	if len(facts) > 0 {
		h.Facts = templates.DeepMerge(h.Facts, facts)
	}
	return h
}

// compile compiles and, if shown is given, notes there what a person wants to
// see of it.
func (c *Compiler) compile(ctx context.Context, h Host, shown *Rendered) (*Compiled, error) {
	layers, err := c.layers(ctx, h)
	if err != nil {
		return nil, err
	}
	data := templates.Merge(layers)
	if err := c.checkData(data); err != nil {
		return nil, err
	}
	env := &templates.Env{Facts: h.Facts, Data: data, Environ: c.opts.Environ, Files: c.root.files}
	p := &compilation{
		Compiler: c,
		at:       &nest{site: c.root, env: env, layers: layers},
		byName:   map[string][]int{},
		unseen:   map[string]bool{},
		out:      &Compiled{parts: &c.parts},
		shown:    shown,
	}
	p.out.Catalog.FailOnError = c.root.play.FailOnError
	p.out.Catalog.Remember = remembered(c.root.play)
	p.ordering.graph = c.root.play.Graph()
	last := int(c.entries.Load())
	p.out.Catalog.Entries, p.out.common = slices.Grow(p.out.Catalog.Entries, last), slices.Grow(p.out.common, last)
	for _, r := range p.resources(ctx) {
		if p.resource(ctx, r); p.full() {
			break
		}
	}
	p.order()
	p.errs.Add(p.bundled())
	p.out.Pre, p.out.Post = p.text(ctx, c.root.play.Pre, env), p.text(ctx, c.root.play.Post, env)
	if err := manifest.Distinct(p.errs); err != nil {
		return nil, err
	}
	c.entries.Store(int64(len(p.out.Catalog.Entries)))
	if shown != nil {
		shown.Layers, shown.Data = layers, data
	}
	return p.out, nil
}

// resources are those of the manifest, or those that its template writes for the
// host.
func (p *compilation) resources(ctx context.Context) []*manifest.Resource {
	if p.at.play.JetFile == nil {
		return p.at.play.Resources
	}
	generated, err := p.at.play.Generate(ctx, p.at.env)
	p.errs.Add(err)
	for _, r := range generated {
		p.errs.Add(r.CheckPaths(p.at.files, p.at.tainted))
	}
	return generated
}

// compilation is one host's catalog under way.
type compilation struct {
	*Compiler
	at        *nest // the manifest whose resources are compiled
	out       *Compiled
	shown     *Rendered        // nil if nobody wants to see it
	byName    map[string][]int // type#name and type#alias → the entries last called so
	unseen    map[string]bool  // types with resources left out under names that are not known
	unseenAll bool             // so are resources of types that nobody knows
	recalled  bool             // the properties of the entry to be added are those of another host
	bundles   []*bundle        // that its resources asked for
	ordering  ordering         // what is known of the order
	autoedge  bool             // the entry to be added takes part in automatic edges
	size      int64            // of what has been made, in bytes
	hints     int              // suggestions given for wrong references
	errs      yamlpos.Errors
}

// Bounds of one host's catalog. A list that a host reports about itself, under
// each, must not fill the controller's memory.
const (
	maxEntries = 100_000
	maxSize    = 48 << 20 // bytes; the wire takes a catalog of 64 MiB
	maxErrors  = 100
)

// full reports whether to go no further: with all those errors, or at a bound,
// which is then one more of them.
func (p *compilation) full() bool {
	if len(p.errs) >= maxErrors {
		return true
	}
	if len(p.out.Catalog.Entries) <= maxEntries && p.size <= maxSize {
		return false
	}
	p.errs.Add(fmt.Errorf("the catalog has grown beyond %d resources or %d MiB", maxEntries, maxSize>>20))
	return true
}

// boolean resolves noop or sensitive.
func (p *compilation) boolean(ctx context.Context, v *manifest.Value, env *templates.Env) (b bool) {
	if v == nil {
		return false
	}
	n, err := v.Resolve(ctx, env)
	if err == nil {
		err = yamlpos.Decode(n, &b)
	}
	p.errs.Add(err)
	return b
}

func (p *compilation) text(ctx context.Context, v *manifest.Value, env *templates.Env) string {
	if v == nil {
		return ""
	}
	s, err := v.Text(ctx, env)
	p.errs.Add(err)
	return s
}
