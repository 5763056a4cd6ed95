package inventories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/access"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// Reader reads the inventory of a call.
type Reader struct {
	App     *app.App
	Flags   *flags.All
	Secrets *access.Unsealer
}

// Load reads the inventory of the command line, or the first existing default inventory. It also reads variables of groups
// and hosts next to manifests. The first Ctrl-C ends it.
func (f *Reader) Load(ctx context.Context, manifests ...string) (*inventory.Inventory, error) {
	sources, err := f.Sources()
	if err != nil {
		return nil, err
	}
	options := f.Flags.Inventory.Options
	options.RecordedRun = f.App.RecordedHosts
	if options.Folders, err = f.varsFolders(manifests); err != nil {
		return nil, err
	}
	keys, err := f.Secrets.Keys(ctx)
	if err != nil {
		return nil, err
	}
	options.Opener, options.Note = keys.Opener(), f.App.Files.Note
	waiting, end := f.App.UntilStop(ctx)
	inv, err := inventory.Load(waiting, sources, options)
	end()
	switch {
	case f.App.Stopped():
		return nil, exit.Status(exit.Interrupted)
	case err != nil:
		return nil, err
	}
	for _, w := range inv.Warnings() {
		f.App.Warn(w)
	}
	return inv, nil
}

// LoadIfAny reads the inventory, which need not exist unless it is named.
func (f *Reader) LoadIfAny(ctx context.Context, manifests ...string) (*inventory.Inventory, error) {
	if _, err := f.Sources(); errors.Is(err, inventory.ErrNone) {
		return nil, nil
	}
	return f.Load(ctx, manifests...)
}

// Sources returns the sources of -i, or the default source.
func (f *Reader) Sources() ([]string, error) {
	if len(f.Flags.Inventory.Paths) > 0 {
		return f.Flags.Inventory.Paths, nil
	}
	path, err := inventory.Find(f.App.Getenv)
	return []string{path}, err
}

// varsFolders returns the folders whose group_vars and host_vars are read: the one of --playbook-dir, or the folders of
// the manifests. Archives are not searched, and without manifests the working folder is not searched.
func (f *Reader) varsFolders(manifests []string) ([]string, error) {
	if folder := f.Flags.Inventory.PlaybookDir; folder != "" {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--playbook-dir %s: no such folder", folder)
		}
		return []string{folder}, nil
	}
	packed := func(path string) bool { return source.IsArchive(path) || source.IsURL(path) }
	return inventory.FoldersBeside(slices.DeleteFunc(slices.Clone(manifests), packed))
}

// SelectHosts returns the hosts of a pattern within --limit.
func (f *Reader) SelectHosts(inv *inventory.Inventory, pattern string) ([]*inventory.Host, error) {
	return playbooks.SelectHosts(inv, pattern, f.Flags.Inventory.Limit, f.App.Warn)
}
