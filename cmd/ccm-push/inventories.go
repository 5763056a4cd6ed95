package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// inventories reads the inventory of a call.
type inventories struct {
	app     *app.App
	flags   *flags.All
	secrets *unsealer
}

// load reads the inventory of the command line, or the first default one that exists. It also reads variables of groups
// and hosts next to manifests. The first Ctrl-C ends it.
func (f *inventories) load(ctx context.Context, manifests ...string) (*inventory.Inventory, error) {
	sources, err := f.sources()
	if err != nil {
		return nil, err
	}
	options := f.flags.Inventory.Options
	options.RecordedRun = f.app.RecordedHosts
	if options.Folders, err = f.varsFolders(manifests); err != nil {
		return nil, err
	}
	keys, err := f.secrets.keys(ctx)
	if err != nil {
		return nil, err
	}
	options.Opener, options.Note = keys.Opener(), f.app.Files.Note
	waiting, end := f.app.UntilStop(ctx)
	inv, err := inventory.Load(waiting, sources, options)
	end()
	switch {
	case f.app.Stopped():
		return nil, exit.Status(exit.Interrupted)
	case err != nil:
		return nil, err
	}
	for _, w := range inv.Warnings() {
		f.app.Warn(w)
	}
	return inv, nil
}

// loadIfAny reads the inventory, which need not exist unless it is named.
func (f *inventories) loadIfAny(ctx context.Context, manifests ...string) (*inventory.Inventory, error) {
	if _, err := f.sources(); errors.Is(err, inventory.ErrNone) {
		return nil, nil
	}
	return f.load(ctx, manifests...)
}

// sources returns the sources of -i, or the default source.
func (f *inventories) sources() ([]string, error) {
	if len(f.flags.Inventory.Paths) > 0 {
		return f.flags.Inventory.Paths, nil
	}
	path, err := inventory.Find(f.app.Getenv)
	return []string{path}, err
}

// varsFolders returns the folders whose group_vars and host_vars are read: the one of --playbook-dir, or the folders of
// the manifests. Archives are not searched, and without manifests the working folder is not searched.
func (f *inventories) varsFolders(manifests []string) ([]string, error) {
	if folder := f.flags.Inventory.PlaybookDir; folder != "" {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--playbook-dir %s: no such folder", folder)
		}
		return []string{folder}, nil
	}
	packed := func(path string) bool { return source.IsArchive(path) || source.IsURL(path) }
	return inventory.FoldersBeside(slices.DeleteFunc(slices.Clone(manifests), packed))
}

// selectHosts returns the hosts of a pattern within --limit.
func (f *inventories) selectHosts(inv *inventory.Inventory, pattern string) ([]*inventory.Host, error) {
	return playbooks.SelectHosts(inv, pattern, f.flags.Inventory.Limit, f.app.Warn)
}
