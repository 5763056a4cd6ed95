package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// plays reads the plays of manifests, and makes runners of them.
type plays struct {
	fleet    *fleet
	archives *source.Unpacker // closed when the program ends
}

// read reads plays from files, folders and archives. The end of ctx ends downloads.
func (p *plays) read(ctx context.Context, paths []string) ([]*manifest.Play, error) {
	keys, err := p.fleet.secrets.PlayKeys(ctx)
	if err != nil {
		return nil, err
	}
	p.archives.Objects, p.archives.Warn = p.fleet.nats.Store(), p.fleet.app.Warn
	options := []load.Option{load.WithArchives(p.archives), load.WithKeys(keys), load.WithNote(p.note)}
	parameters := p.fleet.flags.Variables.Parameters
	if parameters != "" {
		options = append(options, load.WithParameters(parameters))
	}
	if file := p.fleet.flags.Rollout.File; file != "" {
		options = append(options, load.WithRollout(file))
	}
	list, err := load.Files(ctx, paths, p.fleet.app.Registry, options...)
	isDocument := func(p *manifest.Play) bool { return p.Configuration != nil }
	if err == nil && parameters != "" && !slices.ContainsFunc(list, isDocument) {
		err = errors.New("--parameters: no file is a DSC configuration document; -e gives data to manifests")
	}
	return list, err
}

// note takes a file that plays are read from.
func (p *plays) note(path string) {
	p.fleet.app.Note(path)
	p.fleet.workers.Note(path)
}

// load reads plays, and leaves in them what the run is about. With an error it returns
// the plays that could be read.
func (p *plays) load(ctx context.Context, paths []string) ([]*manifest.Play, error) {
	list, err := p.read(ctx, paths)
	if err == nil {
		err = p.tellWarnings(list)
	}
	if err != nil {
		return list, err
	}
	return p.fleet.flags.Selection.Selection.Select(list)
}

// tellWarnings shows what looks like a mistake in manifests; with --strict it is an error.
func (p *plays) tellWarnings(list []*manifest.Play) error {
	var errs yamlpos.Errors
	warnings := manifest.Warnings(list)
	if why := p.fleet.nats.Unregistered(); why != "" {
		for _, at := range manifest.Registering(list) {
			warnings = append(warnings, at.Pos()+": "+why)
		}
	}
	for _, w := range warnings {
		if !p.fleet.flags.Mode.Strict {
			p.fleet.app.Warn(w)
			continue
		}
		errs.Add(&yamlpos.Error{Msg: w})
	}
	return errs.Err()
}

// runner returns the runner of the plays in files. If the plays or the inventory have errors, it returns the same
// errors as validate.
func (p *plays) runner(ctx context.Context, paths []string) (*playbooks.Runner, error) {
	a := p.fleet.app
	r, err := p.readAll(ctx, p.load, purpose{manifests: paths})
	switch {
	case a.Stopped():
		return nil, exit.Status(exit.Interrupted)
	case err != nil && r != nil:
		p.fleet.connection.MentionPasswords(&r.Connect)
		return nil, r.Validate(ctx, err, false)
	case err != nil:
		return nil, err
	}
	if p.fleet.workers.Recipe, err = p.plan(paths); err != nil {
		return nil, err
	}
	for _, path := range paths {
		r.Options.Manifests = append(r.Options.Manifests, source.ShownName(path))
	}
	return r, nil
}

// readAll reads the plays of files and returns their runner. With an error it returns the part that it has read, if
// any.
func (p *plays) readAll(ctx context.Context, load func(context.Context, []string) ([]*manifest.Play, error), wanted purpose) (*playbooks.Runner, error) {
	if _, err := p.fleet.secrets.Keys(ctx); err != nil {
		return nil, err
	}
	waiting, end := p.fleet.app.UntilStop(ctx)
	list, playErr := load(waiting, wanted.manifests)
	hiera, hieraErr := p.fleet.variables.readHiera(waiting)
	end()
	if p.fleet.app.Stopped() {
		return nil, exit.Status(exit.Interrupted)
	}
	r, err := p.fleet.runner(ctx, wanted)
	if r != nil {
		r.Plays, r.Options.Catalog.Hiera = list, hiera
	}
	return r, errors.Join(playErr, hieraErr, err)
}

// apply runs manifest files, or lists their resources or hosts.
func (p *plays) apply(ctx context.Context, out *output.Printer, paths []string) error {
	if p.fleet.flags.Work.Resources != "" {
		return errors.New("--resources cannot be used with a manifest; ccm-push reads the folder resources/ next to the manifest file")
	}
	if p.fleet.flags.Selection.List {
		return p.printResources(ctx, out, paths)
	}
	r, err := p.runner(ctx, paths)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	return p.run(ctx, r, out, header("apply", paths, r.Plays))
}

// run runs plays, prints what happens, and records it.
func (p *plays) run(ctx context.Context, r *playbooks.Runner, out *output.Printer, h record.Header, to ...events.Reporter) error {
	to = slices.Insert(to, 0, out.Reporter(r, events.TextOptions{Trust: p.fleet.trustCommand, Recorded: !p.fleet.flags.Record.None, Again: withheld(p.fleet.record.given())}))
	if err := takesBack(r.Plays, p.fleet.flags); err != nil {
		return err
	}
	err := p.fleet.run(ctx, r, out, h, append(to, p.fleet.record.reporters(r, h)...)...)
	if len(r.TakeBack) == 0 {
		return err
	}
	return exit.Join(err, p.fleet.takeBack(ctx, r, out))
}

// render makes the plays of manifests ready for a host; command is the one that wants
// them.
func (p *plays) render(ctx context.Context, out *output.Printer, command string, paths []string, name string) (rendered []playbooks.RenderedPlay, err error) {
	if err := out.TextOnly(command); err != nil {
		return nil, err
	}
	err = p.onHost(ctx, out, paths, name, func(ctx context.Context, r *playbooks.Runner, host *inventory.Host, contact bool) error {
		if host == nil {
			return fmt.Errorf("unknown host %q; the last argument is the host to %s for", name, command)
		}
		rendered, err = r.Render(ctx, host, contact)
		return err
	})
	return rendered, err
}

// onHost calls do with the plays of manifests and one host, which is nil if no host has that name. Without --facts,
// onHost may contact the host.
func (p *plays) onHost(ctx context.Context, out *output.Printer, paths []string, name string, do func(ctx context.Context, r *playbooks.Runner, host *inventory.Host, contact bool) error) error {
	r, err := p.runner(ctx, paths)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	host := r.Inventory.Host(name)
	contact := p.fleet.flags.Variables.Facts == "" && host != nil
	if contact {
		if err := p.fleet.addBuilds(r); err != nil {
			return err
		}
		if err := p.fleet.unlock(ctx, r, []*inventory.Host{host}); err != nil {
			return err
		}
	}
	ctx, end := p.fleet.app.UntilStop(ctx)
	defer end()
	err = do(ctx, r, host, contact)
	if failed, ok := errors.AsType[*playbooks.HostError](err); ok {
		out.TellProblems(r)
		r.Events.Report(failed.Event)
		return out.Status(r.Tally.Summary(false))
	}
	return err
}
