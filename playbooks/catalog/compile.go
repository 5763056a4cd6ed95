package catalog

import (
	"context"
	"fmt"
	"maps"

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
	play    *manifest.Play
	opts    Options
	files   *templates.Files
	sources *sources

	factPaths []string        // that the play can read
	allFacts  bool            // when it cannot be known which
	tainted   map[string]bool // keys of the data that are made of facts
}

// Options are what a run adds to a play.
type Options struct {
	Environ map[string]string // the controller's, for Environ in expressions
	Extra   []templates.Layer // -e: over everything
	Facts   map[string]any    // --facts: over those of every host
	Hiera   *templates.Source // --hiera: over the play's data; nil if there is none
}

// New opens the play's folder. What every host would stumble over, a file or a
// template that is not there, is an error here.
func New(play *manifest.Play, opts Options) (*Compiler, error) {
	files, err := templates.Open(play.Folder)
	if err != nil {
		return nil, err
	}
	src, err := openSources(play.Folder)
	if err != nil {
		files.Close()
		return nil, err
	}
	c := &Compiler{play: play, opts: opts, files: files, sources: src, tainted: map[string]bool{}}
	c.factPaths, c.allFacts = play.Facts(files)
	for _, s := range c.dataSources() {
		paths, all := s.Facts()
		c.factPaths, c.allFacts = append(c.factPaths, paths...), c.allFacts || all
		maps.Copy(c.tainted, s.FromHost())
	}
	if err := c.checkFiles(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Facts gives the paths of the facts that the play can read; all is set when
// that cannot be known.
func (c *Compiler) Facts() (paths []string, all bool) { return c.factPaths, c.allFacts }

// Close closes the play's folder.
func (c *Compiler) Close() {
	c.files.Close()
	c.sources.close()
}

// Compiled is a play made ready for one host.
type Compiled struct {
	Catalog   modules.Catalog // Check, Diff and Lock are for the run to set
	Pre, Post string          // messages; "" if there is none
	Contents  Contents        // what the host may ask for
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
	p := &compilation{
		Compiler: c,
		env:      &templates.Env{Facts: h.Facts, Data: data, Environ: c.opts.Environ, Files: c.files},
		byName:   map[string][]int{},
		unseen:   map[string]bool{},
		out:      &Compiled{Contents: Contents{sources: c.sources}},
		shown:    shown,
	}
	p.out.Catalog.FailOnError = c.play.FailOnError
	for _, r := range p.resources(ctx) {
		if p.resource(ctx, r); p.full() {
			break
		}
	}
	p.out.Pre, p.out.Post = p.text(ctx, c.play.Pre, p.env), p.text(ctx, c.play.Post, p.env)
	if err := manifest.Distinct(p.errs); err != nil {
		return nil, err
	}
	if shown != nil {
		shown.Layers, shown.Data = layers, data
	}
	return p.out, nil
}

// resources are those of the play, or those that its template writes for the
// host.
func (p *compilation) resources(ctx context.Context) []*manifest.Resource {
	if p.play.JetFile == nil {
		return p.play.Resources
	}
	generated, err := p.play.Generate(ctx, p.env)
	p.errs.Add(err)
	for _, r := range generated {
		p.errs.Add(r.CheckPaths(p.files, p.tainted))
	}
	return generated
}

// compilation is one host's catalog under way.
type compilation struct {
	*Compiler
	env    *templates.Env
	out    *Compiled
	shown  *Rendered        // nil if nobody wants to see it
	byName map[string][]int // type#name and type#alias → the entries last called so
	unseen map[string]bool  // types with resources left out under names that are not known
	size   int64            // of what has been made, in bytes
	hints  int              // suggestions given for wrong references
	errs   yamlpos.Errors
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
