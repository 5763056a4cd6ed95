package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/links"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/playbooks/workers"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
)

// coordinator returns the coordinator of the workers of a run; nil if this machine runs the hosts. The caller must
// close it. If the run is shared, others can follow it and resume it.
func (f *Fleet) coordinator(ctx context.Context, r *playbooks.Runner, shared bool) (*workers.Coordinator, error) {
	if f.Flags.Workers.URL == "" {
		return nil, nil
	}
	recipe, err := f.Workers.RecipeOf(r.Plays)
	if err != nil {
		return nil, err
	}
	a := f.App
	key, list, err := f.Workers.Keys()
	if err != nil {
		return nil, err
	}
	authority, err := f.Authority.Authority()
	switch {
	case err != nil:
		return nil, err
	case authority == nil:
		return nil, errors.New("--workers: workers log in with certificates, which need an authority\n  hint: add --ca-command or --ca-key; ccm-push new authority DIR writes an authority")
	case r.Connect.Password != nil:
		return nil, errors.New("--workers: workers log in with certificates, not with passwords; remove -k or --password-file")
	}
	if recipe.Without, err = f.withoutFiles(ctx); err != nil {
		return nil, err
	}
	q, err := f.Workers.Queue(ctx)
	if err != nil {
		return nil, err
	}
	c := &workers.Coordinator{
		List:  f.Workers.ListFile,
		Queue: q, Key: key, Workers: list, Recipe: recipe, Runner: r, Warn: a.Warn, Size: f.Flags.Workers.Size, URL: f.Workers.Address(), WaitWorkers: f.Flags.Workers.Wait,
		Certify: func(ctx context.Context, of workers.Certificate) ([]byte, time.Duration, error) {
			return f.Workers.Certify(ctx, authority, r.Options.Run, of)
		},
	}
	if shared && !f.Flags.Record.None { // a run without a record cannot be followed or resumed
		h, err := f.Workers.Handover(ctx)
		if err != nil {
			return nil, err
		}
		c.Share = func(ctx context.Context, name string) (<-chan struct{}, error) {
			return f.Workers.Shared.Share(ctx, h, r.Options.Run, name)
		}
	}
	if err := c.Begin(ctx); err != nil {
		return nil, err
	}
	r.Workers = c
	answered := c.Answered
	f.Workers.Answered.Store(&answered)
	return c, nil
}

// withoutFiles returns the files and folders in the folder of a play that workers do not get: inventories, since a
// worker gets the parts that concern its hosts, and the operator's own files.
func (f *Fleet) withoutFiles(ctx context.Context) ([]string, error) {
	a, given := f.App, f.Flags
	inventories, err := f.Inventory.Sources()
	if err != nil {
		return nil, err
	}
	nats := links.Config(given.NATS.Config, flags.NATSFlag, a)
	own := []string{
		f.Flags.Workers.Key, given.Connection.Secrets.File, given.Connection.Secrets.BecomeFile, given.Connection.Secrets.PassphraseFile, nats.Creds, nats.NKey, nats.Key,
		filepath.Join(a.Home(), ".ssh"), a.Configuration(""),
	}
	if store, err := a.Records(); err == nil { // otherwise no run is recorded
		own = append(own, store.Folder)
	}
	return slices.Concat(inventories, own, given.Connection.Given.PrivateKeys, given.Secrets.Vault.Named(), f.Secrets.AgeKeys(ctx).Paths()), nil
}

// plan returns the recipe of plays for workers; nil without workers.
func (p *Plays) plan(paths []string) (*parcel.Recipe, error) {
	if p.Fleet.Flags.Workers.URL == "" {
		return nil, nil
	}
	archives, err := p.Archives.Unpacked()
	if err != nil {
		return nil, fmt.Errorf("--workers: %w", err)
	}
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	recipe := &parcel.Recipe{
		Folder: folder, Parameters: p.Fleet.Flags.Variables.Parameters, Rollout: p.Fleet.Flags.Rollout.File, Hiera: p.Fleet.Variables.document, Selection: p.Fleet.Flags.Selection.Selection,
		Archives: archives, Sealed: &p.Fleet.Secrets.Sealed,
	}
	for _, path := range paths {
		recipe.Paths = append(recipe.Paths, source.Plain(path))
	}
	return recipe, nil
}
