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
	Name  string
	Facts map[string]any // plain JSON values
	Vars  map[string]any // of the inventory, merged
}

// A Compiler makes the catalogs of one play. It may be used by many goroutines
// at once.
type Compiler struct {
	play    *manifest.Play
	opts    Options
	files   *templates.Files
	sources *sources

	factPaths []string // that the play can read
	allFacts  bool     // when it cannot be known which
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
	c := &Compiler{play: play, opts: opts, files: files, sources: src}
	c.factPaths, c.allFacts = play.Facts(files)
	if opts.Hiera != nil {
		paths, all := opts.Hiera.Facts()
		c.factPaths, c.allFacts = append(c.factPaths, paths...), c.allFacts || all
	}
	if err := c.checkFiles(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// checkFiles looks at the files that the play names and that every host needs.
func (c *Compiler) checkFiles() error {
	var errs yamlpos.Errors
	for _, r := range c.play.Resources {
		if !r.Unconditional() {
			continue
		}
		for _, f := range r.PlayFiles() {
			if _, err := c.sources.content(f.Name.Text); err != nil {
				errs.Add(f.Name.Errorf("", "%s: %v", f.Property, err))
			}
		}
		errs.Add(r.CheckTemplates(c.files))
	}
	return manifest.Distinct(errs)
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
	if len(c.opts.Facts) > 0 {
		h.Facts = templates.DeepMerge(h.Facts, c.opts.Facts)
	}
	data, err := c.data(ctx, h)
	if err != nil {
		return nil, err
	}
	p := &compilation{
		Compiler: c,
		env:      &templates.Env{Facts: h.Facts, Data: data, Environ: c.opts.Environ, Files: c.files},
		byName:   map[string][]int{},
		out:      &Compiled{Contents: Contents{sources: c.sources}},
	}
	p.out.Catalog.FailOnError = c.play.FailOnError
	for _, r := range c.play.Resources {
		if p.resource(ctx, r); p.full() {
			break
		}
	}
	p.out.Pre, p.out.Post = p.text(ctx, c.play.Pre, p.env), p.text(ctx, c.play.Post, p.env)
	if err := manifest.Distinct(p.errs); err != nil {
		return nil, err
	}
	return p.out, nil
}

// data lays the sources of data over each other, low to high.
func (c *Compiler) data(ctx context.Context, h Host) (map[string]any, error) {
	data, err := c.play.Data.Resolve(ctx, h.Facts)
	if err != nil {
		return nil, err
	}
	if c.opts.Hiera != nil {
		over, err := c.opts.Hiera.Resolve(ctx, h.Facts)
		if err != nil {
			return nil, err
		}
		data = templates.DeepMerge(data, over)
	}
	maps.Copy(data, h.Vars)
	maps.Copy(data, templates.Merge(c.opts.Extra))
	return data, nil
}

// compilation is one host's catalog under way.
type compilation struct {
	*Compiler
	env    *templates.Env
	out    *Compiled
	byName map[string][]int // type#name and type#alias → the entries last called so
	size   int64            // of what has been made, in bytes
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
