package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// inventoryFlags say which inventory is read, and which of its hosts count.
type inventoryFlags struct {
	app         *app
	secrets     *secretFlags
	paths       []string
	limit       string
	playbookDir string
	options     inventory.Options
	listHosts   bool

	set *pflag.FlagSet // to ask whether --limit is given
}

func (f *inventoryFlags) register(set *pflag.FlagSet) {
	f.set = set
	o := &f.options
	set.StringArrayVarP(&f.paths, "inventory", "i", nil, "inventory `file`, or comma-separated host names; may be repeated")
	set.StringVarP(&f.limit, "limit", "l", "", "only hosts that also match this `pattern`")
	set.StringVar(&f.playbookDir, "playbook-dir", "", "`folder` with group_vars and host_vars; they override the inventory (default: the folder of the manifest)")
	set.BoolVar(&o.AllowScripts, "allow-inventory-scripts", false, "run the executables in an inventory folder")
	set.BoolVar(&o.AllowImplicitLocalhost, "allow-implicit-localhost", false, "accept localhost as a host that no inventory lists")
	set.BoolVar(&o.AllowNameClash, "allow-name-clash", false, "accept a host with the name of a group; the name then selects the host")
	set.BoolVar(&o.AllowEmpty, "allow-empty", false, "accept a pattern that matches no host")
	set.BoolVar(&o.StrictPatterns, "strict-patterns", false, "refuse a pattern if one part of it matches no host")
	set.BoolVar(&o.MergeMaps, "merge-maps", false, "merge maps of inventory variables key by key, instead of replacing them")
	set.BoolVar(&f.listHosts, "list-hosts", false, "print the selected hosts and exit")
}

func (f *inventoryFlags) validate() error { return refuseEmpty(f.set, "limit") }

// load reads the inventory that the command line names, or the first default one that
// exists. Beside manifests stand variables of groups and hosts. The first Ctrl-C ends it.
func (f *inventoryFlags) load(ctx context.Context, manifests ...string) (*inventory.Inventory, error) {
	sources, err := f.sources()
	if err != nil {
		return nil, err
	}
	options := f.options
	options.RecordedRun = f.app.recordedHosts
	if options.Folders, err = f.varsFolders(manifests); err != nil {
		return nil, err
	}
	keys, err := f.secrets.keys(ctx)
	if err != nil {
		return nil, err
	}
	options.Opener, options.Note = keys.Opener(), f.app.files.Note
	waiting, end := f.app.untilStop(ctx)
	inv, err := inventory.Load(waiting, sources, options)
	end()
	switch {
	case f.app.stopped():
		return nil, exitStatus(interruptedStatus)
	case err != nil:
		return nil, err
	}
	for _, w := range inv.Warnings() {
		f.app.warn(w)
	}
	return inv, nil
}

// loadIfAny reads the inventory, which need not exist unless it is named.
func (f *inventoryFlags) loadIfAny(ctx context.Context, manifests ...string) (*inventory.Inventory, error) {
	if _, err := f.sources(); errors.Is(err, inventory.ErrNone) {
		return nil, nil
	}
	return f.load(ctx, manifests...)
}

// sources are those of -i, or the default one.
func (f *inventoryFlags) sources() ([]string, error) {
	if len(f.paths) > 0 {
		return f.paths, nil
	}
	path, err := inventory.Find(f.app.getenv)
	return []string{path}, err
}

// varsFolders are the folders beside the plays whose group_vars and host_vars are
// read: the one that is named, or those of the manifests. They are not looked for
// in an archive, and where there are no manifests not in the working folder.
func (f *inventoryFlags) varsFolders(manifests []string) ([]string, error) {
	if folder := f.playbookDir; folder != "" {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--playbook-dir %s: no such folder", folder)
		}
		return []string{folder}, nil
	}
	packed := func(path string) bool { return source.IsArchive(path) || source.IsURL(path) }
	return inventory.FoldersBeside(slices.DeleteFunc(slices.Clone(manifests), packed))
}

// selectHosts gives the hosts of a pattern within --limit.
func (f *inventoryFlags) selectHosts(inv *inventory.Inventory, pattern string) ([]*inventory.Host, error) {
	return playbooks.SelectHosts(inv, pattern, f.limit, f.app.warn)
}
