package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/graph"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/registry"
	"github.com/ccm-push/ccm-push/playbooks/watch"
	"github.com/ccm-push/ccm-push/templates"
)

// A Host is the input of the compilation for one host.
type Host struct {
	Name    string
	Facts   map[string]any    // plain JSON values
	Vars    map[string]any    // variables of the inventory, merged
	Secrets []*yamlpos.Node   // the maps of Vars in which something is marked as secret
	Layers  []templates.Layer // the same before merging, to explain values; else nil
	// Results are the results of earlier stages, by entry; see [Compiler.Next].
	Results []*wire.Result

	checked bool // see [Compiler.Check]
}

// Compiled is a play made ready for one host.
type Compiled struct {
	Catalog   wire.Catalog   // Check, Diff and Lock are for the run to set
	Pre, Post string         // messages; empty means none
	Notes     []Note         // messages of nested manifests, in the order of their first entries
	Contents  Contents       // contents that the host may request
	NeedsFull bool           // the lean host program cannot carry it out
	Via       []manifest.Via // new addresses of the changed host; empty means unchanged
	// Imports has, by entry number, the values from other hosts: the entry's Receives with From -1.
	Imports map[int][]Import
	// Elsewhere has, by entry number, the entries that run on other hosts.
	Elsewhere map[int]*Compiled

	// Registrations has, by entry number, the registrations once the entry is stable.
	Registrations map[int][]registry.Registration

	size       int64
	uncompiled map[int]error   // errors by entry, see [Compiled.Uncompiled]
	registers  map[int]bool    // entries whose results are used by others
	common     []bool          // set by entry if another host had the same properties
	written    []*yamlpos.Node // by entry
	restarts   []time.Duration // time by entry for which it may make the host unreachable
	longest    []time.Duration // by entry: [modules.Limited]
	runsOnce   map[int]bool    // entries whose command is not safe to repeat
	watch      *watch.Rules    // rules of the play
	watches    []*watch.Rules  // rules by entry; nil means the play's rules
	parts      *parts          // shared parts of the compiler
}

// Restarts returns how long an entry may make the host unreachable; 0 if it does not restart the host.
func (c *Compiled) Restarts(entry int) time.Duration {
	if entry >= len(c.restarts) {
		return 0
	}
	return c.restarts[entry]
}

// Deadline returns how long one try of an entry may take on the host; 0 means that it has no deadline.
func (c *Compiled) Deadline(entry int) time.Duration {
	e := &c.Catalog.Entries[entry]
	limit := e.Timeout
	if entry < len(c.longest) && c.longest[entry] > 0 {
		limit = c.longest[entry]
	}
	if limit == 0 {
		return 0
	}
	for _, h := range e.Health {
		limit += time.Duration(h.Tries) * (h.Timeout + h.TrySleep)
	}
	return limit
}

// RunsOnce reports whether an entry starts a command that nothing makes safe to repeat.
func (c *Compiled) RunsOnce(entry int) bool { return c.runsOnce[entry] }

// Size returns about how many bytes of memory a result of [Compiler.Check] takes; 0 means that it cannot take the
// place of a later result of [Compiler.Compile].
func (c *Compiled) Size() int64 { return c.size }

// Uncompiled returns the error of an unselected resource that could not be compiled for the host and has only this entry;
// nil if the entry is a compiled resource.
func (c *Compiled) Uncompiled(entry int) error { return c.uncompiled[entry] }

// Written returns the place of an entry's resource in the manifests; nil if it is in no manifest.
func (c *Compiled) Written(entry int) *yamlpos.Node {
	if entry >= len(c.written) {
		return nil
	}
	return c.written[entry]
}

// Registers reports whether the resource of an entry registers its result.
func (c *Compiled) Registers(entry int) bool { return c.registers[entry] }

// An Import is a property that an entry receives from a resource of another host.
type Import struct {
	Property string
	Host     string // the name in the inventory
	Ref      string // type#name or type#alias there
	Key      string // key of the value: "stdout"; dots lead into it
}

// A Note has the messages of a nested manifest; empty means none.
type Note struct {
	First, Last int // range of its entries; the last one belongs to the applying resource
	Pre, Post   string
}

// Compile resolves the play for one host. The errors carry positions.
func (c *Compiler) Compile(ctx context.Context, h Host) (*Compiled, error) {
	compiled, _, err := c.compile(ctx, h, false)
	return compiled, err
}

// Check reports the errors that Compile would. It downloads nothing: its result can be sent to the host if it has
// a [Compiled.Size].
func (c *Compiler) Check(ctx context.Context, h Host) (*Compiled, error) {
	h.checked = true
	return c.Compile(ctx, h)
}

// Render is Compile for people to look at.
func (c *Compiler) Render(ctx context.Context, h Host) (*Rendered, error) {
	_, rendered, err := c.compile(ctx, h, true)
	return rendered, err
}

// compile runs all compilation steps of a play for one host. With show it also returns the view for people; else
// rendered is nil.
func (c *Compiler) compile(ctx context.Context, h Host, show bool) (*Compiled, *Rendered, error) {
	top, err := c.topScope(ctx, h)
	if err != nil {
		return nil, nil, c.masked(err)
	}
	whole := *top // its data changes on the way
	d, errs := c.expand(ctx, &whole, h, show)
	var ordered *graph.Graph
	if len(errs) == 0 {
		edges, err := resolve(d, c.play)
		edges = append(edges, d.turns...)
		if errs.Add(err); err == nil {
			ordered, err = order(d, edges, c.play.Graph(), show)
			errs.Add(err)
		}
	}
	all, err := c.manifests.union(d.bundles)
	errs.Add(err)
	pre, post := top.messages(ctx, &errs)
	via, err := c.play.ConfirmVia(ctx, top.env)
	errs.Add(err)
	if err := manifest.Distinct(errs); err != nil {
		return nil, nil, c.masked(err)
	}
	c.entries.Store(int64(len(d.entries)))
	compiled := c.finish(d, all)
	compiled.Pre, compiled.Post, compiled.Via, compiled.watch = pre, post, via, top.watch
	if !show {
		return compiled, nil, nil
	}
	rendered := &Rendered{
		Data: top.env.Data, Layers: top.values.Layers(), Secrets: top.secrets, Given: c.opts.Facts, Pre: pre, Post: post,
		Watch: top.watch, Graph: ordered, Parallel: compiled.Catalog.Parallel,
	}
	if n := len(c.play.Watch); n > 0 {
		rendered.WatchAt = c.play.Watch[n-1].Node
	}
	for i := range d.origins {
		shown := *d.origins[i].shown
		shown.Entry.Receive = d.entries[i].Receive
		rendered.Resources = append(rendered.Resources, shown)
	}
	return compiled, rendered, nil
}

// entrySize is the approximate size of an entry without its texts, in bytes.
const entrySize = 1 << 10

// finish converts an ordered draft to the catalog that a host is sent. all is the folder resources/ of all manifests;
// nil if no resource needs it.
func (c *Compiler) finish(d *draft, all *bundle) *Compiled {
	out := &Compiled{
		Catalog: wire.Catalog{Entries: d.entries, FailOnError: c.play.FailOnError, Remember: d.remember, Until: d.until, Fixed: d.until, Play: c.play.ID(), Whole: c.play.Whole() && c.play.File != ""},
		Notes:   d.notes, Contents: d.contents, NeedsFull: d.needsFull, parts: &c.parts,
		common: make([]bool, len(d.entries)), written: make([]*yamlpos.Node, len(d.entries)), watches: make([]*watch.Rules, len(d.entries)),
		restarts: make([]time.Duration, len(d.entries)), longest: make([]time.Duration, len(d.entries)),
	}
	if !d.onlyCheck && !c.inputs.Volatile {
		out.size = d.size + entrySize*int64(len(d.entries))
	}
	if c.play.Graph() {
		out.Catalog.Parallel = c.play.Parallel
	}
	if all != nil {
		out.Catalog.Resources, out.Contents.bundle = all.listing.Hashed(), all
	}
	for i := range d.origins {
		o := &d.origins[i]
		d.entries[i].NoHistory = d.entries[i].NoHistory || c.play.NoHistory
		out.common[i], out.written[i], out.watches[i], out.restarts[i] = o.shared, o.resource.Name.Node, o.watch, o.restarts
		out.longest[i] = o.longest
		setWritten(&d.entries[i], o.resource)
		if o.uncompiled != nil {
			if out.uncompiled == nil {
				out.uncompiled = map[int]error{}
			}
			out.uncompiled[i] = c.masked(o.uncompiled)
			continue
		}
		if o.runsOnce {
			if out.runsOnce == nil {
				out.runsOnce = map[int]bool{}
			}
			out.runsOnce[i] = true
		}
		if o.elsewhere != nil {
			if out.Elsewhere == nil {
				out.Elsewhere = map[int]*Compiled{}
			}
			out.Elsewhere[i] = o.elsewhere
		}
		if len(o.registers) > 0 {
			if out.Registrations == nil {
				out.Registrations = map[int][]registry.Registration{}
			}
			out.Registrations[i] = o.registers
		}
		if o.resource.Register != nil || manifest.Sets(o.resource.Type) {
			if out.registers == nil {
				out.registers = map[int]bool{}
			}
			out.registers[i] = true
		}
		if len(o.resource.Imports) == 0 || d.entries[i].Excluded {
			continue
		}
		if out.Imports == nil {
			out.Imports = map[int][]Import{}
		}
		for _, one := range o.resource.Imports {
			out.Imports[i] = append(out.Imports[i], Import{Property: one.Property, Host: one.Host.Text, Ref: one.Ref, Key: one.Key})
		}
	}
	return out
}

// Next compiles the next stage of a play: h.Results has the results of the entries before Catalog.Until. These entries
// stay unchanged, although their inputs, such as a random text, may differ.
func (c *Compiler) Next(ctx context.Context, before *Compiled, h Host) (*Compiled, error) {
	next, err := c.Compile(ctx, h)
	if err != nil {
		return nil, err
	}
	return next, next.follow(before)
}

// follow copies the entries of earlier stages into a stage.
func (c *Compiled) follow(before *Compiled) error {
	until := before.Catalog.Until
	if len(c.Catalog.Entries) < until {
		return fmt.Errorf("the resource list changed between two evaluations (it had at least %d resources, now it has %d); do not use random values or the time in names or conditions", until, len(c.Catalog.Entries))
	}
	for i, e := range before.Catalog.Entries[:until] {
		if now := &c.Catalog.Entries[i]; now.Type != e.Type || now.Name != e.Name {
			return fmt.Errorf("the resource list changed between two evaluations (%s instead of %s); do not use random values or the time in names or conditions", now.Ref(), e.Ref())
		}
		c.Catalog.Entries[i], c.common[i], c.written[i] = e, false, before.written[i]
		if alone := before.Elsewhere[i]; alone != nil {
			c.Elsewhere[i] = alone
		}
		delete(c.Imports, i)
		if imports := before.Imports[i]; len(imports) > 0 {
			if c.Imports == nil {
				c.Imports = map[int][]Import{}
			}
			c.Imports[i] = imports
		}
	}
	c.Catalog.From, c.Catalog.Fixed = until, before.Catalog.Fixed
	c.Contents.texts = merged(c.Contents.texts, before.Contents.texts)
	c.Contents.files = merged(c.Contents.files, before.Contents.files)
	c.Contents.downloads = merged(c.Contents.downloads, before.Contents.downloads)
	c.NeedsFull = c.NeedsFull || before.NeedsFull
	return nil
}
