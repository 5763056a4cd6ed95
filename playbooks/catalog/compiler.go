package catalog

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/playbooks/watch"
	"github.com/ccm-push/ccm-push/templates"
)

// A Compiler makes the catalogs of one play. It may be used by many goroutines
// at once.
type Compiler struct {
	play      *manifest.Play
	opts      Options
	root      *loadedManifest // of the play
	manifests *loadedManifests
	extra     []templates.Source // -e
	memo      memo
	parts     parts
	uses      sync.Map // *manifest.Resource to *use, of resources that stand in files
	// resultUses is the same with *resultUse, where a resource of the play registers its result.
	resultUses sync.Map
	registers  bool // one does, or may

	entries atomic.Int64 // of the last catalog, which the next one will be like

	inputs    templates.Inputs // of the play, its data, and what it applies
	factPaths []string         // that the play and what it applies can read
	allFacts  bool             // when it cannot be known which
}

// Options are what a run adds to a play.
type Options struct {
	Environ map[string]any    // the controller's, for Environ in expressions
	EnvFile bool              // whether .env beside the manifest has more of them
	Extra   []templates.Layer // -e: over everything
	// Inventory gives what expressions see of the inventory and the run when they are
	// evaluated for a host; nil where there is no inventory.
	Inventory func(host string) *templates.Inventory
	// HasHost reports whether the inventory has a host of that name; nil takes any.
	HasHost func(name string) bool
	// Variables are the expressions in the variables of the inventory; nil if there are none.
	Variables *templates.Variables
	Facts     map[string]any    // --facts: over those of every host
	Hiera     *templates.Source // --hiera: over the play's data; nil if there is none
	Mask      *secret.Mask      // learns the secrets of every host; nil for one of the compiler's own
	// Opener opens files of a play that ansible-vault has encrypted; nil sends them as they are.
	Opener yamlpos.Opener
	// InventorySecrets says that a variable of any host is marked as secret.
	InventorySecrets bool
	// Note is called for every file that is about to be read, and every folder that is listed, by several
	// goroutines at once; it may be nil.
	Note func(path string)
	// Watch are the rules of plays that say nothing of watching; nil is [watch.Defaults].
	Watch *watch.Rules
	// Downloads gets what hosts are promised; nil where nothing is applied.
	Downloads *Downloads
}

// New opens the play's folder. What every host would stumble over, a file or a
// template that is not there, is an error here.
func New(play *manifest.Play, opts Options) (*Compiler, error) {
	if opts.Mask == nil {
		opts.Mask = &secret.Mask{}
	}
	c := &Compiler{play: play, opts: opts, manifests: newLoadedManifests(opts.Hiera, opts.Opener, opts.Note)}
	if err := c.open(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// open opens the play's manifest and those that are known to be applied, and checks them.
func (c *Compiler) open() (err error) {
	folder, err := c.manifests.folder(c.play.Folder)
	if err != nil {
		return err
	}
	if err := c.parseExtra(); err != nil {
		return err
	}
	c.root = newLoadedManifest(c.play, folder, templates.KeysFromHost(nil, append(c.dataSources(), c.opts.Variables.Sources()...)...))
	if c.opts.EnvFile {
		c.opts.Environ, err = withEnvFile(c.opts.Environ, folder.files)
	}
	if err := errors.Join(err, c.takePrograms(c.play.Programs)); err != nil {
		return err
	}
	c.inputs = c.play.Inputs(folder.files)
	c.reads(c.inputs.Facts())
	for _, s := range c.dataSources() {
		c.reads(s.Facts())
		c.inputs.Add(s.Inputs())
	}
	errs := yamlpos.Errors{}
	errs.Add(c.root.checked())
	err = c.manifests.each(c.root, func(s *loadedManifest) {
		inputs := s.play.Inputs(s.files)
		c.reads(inputs.Facts())
		c.inputs.Add(inputs)
		c.reads(s.play.Data.Facts())
		c.inputs.Add(s.play.Data.Inputs())
		errs.Add(s.checked())
	})
	errs.Add(err)
	c.opts.Variables.Follow(&c.inputs)
	errs.Add(c.checkResults())
	return manifest.Distinct(errs)
}

// parseExtra reads the expressions in the data of -e.
func (c *Compiler) parseExtra() error {
	var errs yamlpos.Errors
	for _, l := range c.opts.Extra {
		s, err := templates.ParseLayer(l)
		errs.Add(err)
		c.extra = append(c.extra, s)
	}
	return errs.Err()
}

// takePrograms has the play take another folder in the place of resources/; "" is none.
func (c *Compiler) takePrograms(folder string) error {
	if folder == "" {
		return nil
	}
	from, err := c.manifests.folder(folder)
	if err != nil {
		return err
	}
	c.root.bundled = sync.OnceValue(func() *bundle { return readBundle(from.sources, ".") })
	return nil
}

// reads notes which facts are read.
func (c *Compiler) reads(paths []string, all bool) {
	c.factPaths, c.allFacts = append(c.factPaths, paths...), c.allFacts || all
}

// Facts gives the paths of the facts that the play can read; all is set when
// that cannot be known.
func (c *Compiler) Facts() (paths []string, all bool) { return c.factPaths, c.allFacts }

// OtherFacts gives the paths of the facts of other hosts that the play can read, as
// [Compiler.Facts] does.
func (c *Compiler) OtherFacts() (paths []string, all bool) { return c.inputs.OtherFacts() }

// ReadsData reports whether the play, or what it applies, can read what lies at a path
// of the data, above it or below it.
func (c *Compiler) ReadsData(path string) bool { return c.inputs.ReadsData(path) }

// ReadsVariable reports whether the variable of that name can change what Compile makes for a host
// or which errors it finds.
func (c *Compiler) ReadsVariable(name string) bool { return c.demandsData(name) }

// ReadsHost reports whether hosts with equal variables and facts may get different catalogs.
func (c *Compiler) ReadsHost() bool {
	paths, all := c.inputs.Host()
	return all || len(paths) > 0 || c.inputs.Volatile
}

// Reads reports whether the play, or what it applies, may read a root that is the same for all of its
// hosts: see [templates.Inputs].
func (c *Compiler) Reads(root string) bool { return c.inputs.Reads(root) }

// NATSCalls are where the play, or what it applies, asks NATS, as far as that is known without a host.
func (c *Compiler) NATSCalls() []templates.NATSCall { return c.inputs.NATS }

// Variables are the expressions in the variables of the inventory; nil if there are none: then
// hosts need no layers.
func (c *Compiler) Variables() *templates.Variables { return c.opts.Variables }

// NeedsFull reports whether it is known of every host of the play that it needs
// the full host program.
func (c *Compiler) NeedsFull() bool {
	return slices.ContainsFunc(c.play.Resources, (*manifest.Resource).NeedsFull)
}

// Warnings are what in the templates of the play looks like a mistake, as far as they
// have been read.
func (c *Compiler) Warnings() []string {
	var all []string
	for _, f := range c.manifests.open {
		all = append(all, f.files.Warnings()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Close closes the play's folder, and those of the manifests that it applies.
func (c *Compiler) Close() { c.manifests.close() }
