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
	root      *loadedManifest // manifest of the play
	manifests *loadedManifests
	extra     []templates.Source // -e
	given     map[string]bool    // keys of -e
	memo      memo
	parts     parts
	uses      sync.Map // *manifest.Resource to *use, for resources in files
	// resultUses is the same with *resultUse, where a resource of the play registers its result.
	resultUses sync.Map
	registers  bool // one does, or may

	entries atomic.Int64 // number of entries of the last catalog, an estimate for the next one

	scopes templates.ScopeOptions // options for all hosts
	nested []templates.Source     // data of the manifests that the play applies

	inputs    templates.Inputs // inputs of the play, its data, and the manifests that it applies
	factPaths []string         // facts that the play and the manifests that it applies can read
	allFacts  bool             // when it cannot be known which
}

// Options are the settings of a run for a play.
type Options struct {
	Environ map[string]any    // the controller's, for Environ in expressions
	EnvFile bool              // set if .env next to the manifest has more of them
	Extra   []templates.Layer // -e: over everything
	// Inventory returns the inventory and the run as expressions see them for a host; nil without an inventory.
	Inventory func(host string) *templates.Inventory
	// HasHost reports whether the inventory has a host of that name; nil takes any.
	HasHost func(name string) bool
	// Variables are the expressions in the variables of the inventory; nil means none.
	Variables *templates.Variables
	Facts     map[string]any    // --facts: override every host's facts
	Hiera     *templates.Source // --hiera: overrides the play's data; nil means none
	Mask      *secret.Mask      // learns the secrets of every host; nil for one of the compiler's own
	// Opener opens files of a play that ansible-vault has encrypted; nil sends them as they are.
	Opener yamlpos.Opener
	// InventorySecrets is set if a variable of any host is marked as secret.
	InventorySecrets bool
	// Note is called for every file that is about to be read, and every folder that is listed, by several
	// goroutines at once; it may be nil.
	Note func(path string)
	// Watch are the rules of plays that say nothing of watching; nil is [watch.Defaults].
	Watch *watch.Rules
	// Downloads gets what hosts are promised; nil where nothing is applied.
	Downloads *Downloads
}

// New opens the play's folder. It reports errors that every host would have, such as a missing file or template.
func New(play *manifest.Play, opts Options) (*Compiler, error) {
	if opts.Mask == nil {
		opts.Mask = &secret.Mask{}
	}
	c := &Compiler{play: play, opts: opts, given: map[string]bool{}, manifests: newLoadedManifests(opts.Hiera, opts.Opener, opts.Note)}
	c.scopes.Reads = c.demandsData
	c.scopes.Items = play.JetFile != nil
	if err := c.open(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// open opens and checks the play's manifest and the manifests that it is known to apply.
func (c *Compiler) open() (err error) {
	folder, err := c.manifests.folder(c.play.Folder)
	if err != nil {
		return err
	}
	if err := c.parseExtra(); err != nil {
		return err
	}
	sources := append(c.dataSources(), c.opts.Variables.Sources()...)
	c.manifests.setFromHost = setFromHost(c.play.Resources, slices.Clone(sources))
	c.root = newLoadedManifest(c.play, folder, c.manifests.setFromHost, sources)
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
	noteScopes(&c.scopes, c.play.Resources)
	err = c.manifests.each(c.root, func(s *loadedManifest) {
		inputs := s.play.Inputs(s.files)
		c.reads(inputs.Facts())
		c.inputs.Add(inputs)
		c.reads(s.play.Data.Facts())
		c.inputs.Add(s.play.Data.Inputs())
		c.nested = append(c.nested, s.play.Data)
		noteScopes(&c.scopes, s.play.Resources)
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
		for _, key := range s.Keys() {
			c.given[key] = true
		}
	}
	return errs.Err()
}

// takePrograms replaces the play's resources/ by another folder; empty means no change.
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

// Facts returns the paths of the facts that the play can read; all is set when that cannot be known.
func (c *Compiler) Facts() (paths []string, all bool) { return c.factPaths, c.allFacts }

// OtherFacts returns the paths of the facts of other hosts that the play can read, in the same form as
// [Compiler.Facts].
func (c *Compiler) OtherFacts() (paths []string, all bool) { return c.inputs.OtherFacts() }

// ReadsData reports whether the play, or a manifest that it applies, can read the data at a path, above it or below it.
func (c *Compiler) ReadsData(path string) bool { return c.inputs.ReadsData(path) }

// ReadsVariable reports whether the variable of that name can change what Compile makes for a host
// or which errors it finds.
func (c *Compiler) ReadsVariable(name string) bool { return c.demandsData(name) }

// ReadsHost reports whether hosts with equal variables and facts may get different catalogs.
func (c *Compiler) ReadsHost() bool {
	paths, all := c.inputs.Host()
	return all || len(paths) > 0 || c.inputs.Volatile
}

// Reads reports whether the play, or a manifest that it applies, may read a root that is the same for all of its hosts:
// see [templates.Inputs].
func (c *Compiler) Reads(root string) bool { return c.inputs.Reads(root) }

// NATSCalls returns the calls of NATS in the play and the manifests that it applies, as far as they are known without a
// host.
func (c *Compiler) NATSCalls() []templates.NATSCall { return c.inputs.NATS }

// Variables returns the expressions in the variables of the inventory; nil means none, and then hosts need no layers.
func (c *Compiler) Variables() *templates.Variables { return c.opts.Variables }

// NeedsFull reports whether it is known of every host of the play that it needs
// the full host program.
func (c *Compiler) NeedsFull() bool {
	return slices.ContainsFunc(c.play.Resources, (*manifest.Resource).NeedsFull)
}

// Warnings returns the possible mistakes in the templates of the play that have been read.
func (c *Compiler) Warnings() []string {
	var all []string
	for _, f := range c.manifests.open {
		all = append(all, f.files.Warnings()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Close closes the folders of the play and of the manifests that it applies.
func (c *Compiler) Close() { c.manifests.close() }
