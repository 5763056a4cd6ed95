package fleet

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

// Plays reads the plays of manifests, and makes runners of them.
type Plays struct {
	Fleet    *Fleet
	Archives *source.Unpacker // closed when the program ends
}

// read reads plays from files, folders and archives. The end of ctx ends downloads.
func (p *Plays) read(ctx context.Context, paths []string) ([]*manifest.Play, error) {
	keys, err := p.Fleet.Secrets.PlayKeys(ctx)
	if err != nil {
		return nil, err
	}
	p.Archives.Objects, p.Archives.Warn = p.Fleet.NATS.Store(), p.Fleet.App.Warn
	options := []load.Option{load.WithArchives(p.Archives), load.WithKeys(keys), load.WithNote(p.note)}
	parameters := p.Fleet.Flags.Variables.Parameters
	if parameters != "" {
		options = append(options, load.WithParameters(parameters))
	}
	if file := p.Fleet.Flags.Rollout.File; file != "" {
		options = append(options, load.WithRollout(file))
	}
	list, err := load.Files(ctx, paths, p.Fleet.App.Registry, options...)
	isDocument := func(p *manifest.Play) bool { return p.Configuration != nil }
	if err == nil && parameters != "" && !slices.ContainsFunc(list, isDocument) {
		err = errors.New("--parameters: no file is a DSC configuration document; -e gives data to manifests")
	}
	return list, err
}

// note takes a file that plays are read from.
func (p *Plays) note(path string) {
	p.Fleet.App.Note(path)
	p.Fleet.Workers.Note(path)
}

// load reads plays, and leaves in them what the run is about. With an error it returns
// the plays that could be read.
func (p *Plays) load(ctx context.Context, paths []string) ([]*manifest.Play, error) {
	list, err := p.read(ctx, paths)
	if err == nil {
		err = p.TellWarnings(list)
	}
	if err != nil {
		return list, err
	}
	return p.Fleet.Flags.Selection.Selection.Select(list)
}

// TellWarnings shows what looks like a mistake in manifests; with --strict it is an error.
func (p *Plays) TellWarnings(list []*manifest.Play) error {
	var errs yamlpos.Errors
	warnings := manifest.Warnings(list)
	if why := p.Fleet.NATS.Unregistered(); why != "" {
		for _, at := range manifest.Registering(list) {
			warnings = append(warnings, at.Pos()+": "+why)
		}
	}
	for _, w := range warnings {
		if !p.Fleet.Flags.Mode.Strict {
			p.Fleet.App.Warn(w)
			continue
		}
		errs.Add(&yamlpos.Error{Msg: w})
	}
	return errs.Err()
}

// Runner returns the runner of the plays in files. If the plays or the inventory have errors, it returns the same
// errors as validate.
func (p *Plays) Runner(ctx context.Context, paths []string) (*playbooks.Runner, error) {
	a := p.Fleet.App
	r, err := p.ReadAll(ctx, p.load, Purpose{Manifests: paths})
	switch {
	case a.Stopped():
		return nil, exit.Status(exit.Interrupted)
	case err != nil && r != nil:
		p.Fleet.Connection.MentionPasswords(&r.Connect)
		return nil, r.Validate(ctx, err, false)
	case err != nil:
		return nil, err
	}
	if p.Fleet.Workers.Recipe, err = p.plan(paths); err != nil {
		return nil, err
	}
	for _, path := range paths {
		r.Options.Manifests = append(r.Options.Manifests, source.ShownName(path))
	}
	return r, nil
}

// ReadAll reads the plays of files and returns their runner. With an error it returns the part that it has read, if
// any.
func (p *Plays) ReadAll(ctx context.Context, load func(context.Context, []string) ([]*manifest.Play, error), wanted Purpose) (*playbooks.Runner, error) {
	if _, err := p.Fleet.Secrets.Keys(ctx); err != nil {
		return nil, err
	}
	waiting, end := p.Fleet.App.UntilStop(ctx)
	list, playErr := load(waiting, wanted.Manifests)
	hiera, hieraErr := p.Fleet.Variables.readHiera(waiting)
	end()
	if p.Fleet.App.Stopped() {
		return nil, exit.Status(exit.Interrupted)
	}
	r, err := p.Fleet.Runner(ctx, wanted)
	if r != nil {
		r.Plays, r.Options.Catalog.Hiera = list, hiera
	}
	return r, errors.Join(playErr, hieraErr, err)
}

// Apply runs manifest files, or lists their resources or hosts.
func (p *Plays) Apply(ctx context.Context, out *output.Printer, paths []string) error {
	if p.Fleet.Flags.Work.Resources != "" {
		return errors.New("--resources cannot be used with a manifest; ccm-push reads the folder resources/ next to the manifest file")
	}
	if p.Fleet.Flags.Selection.List {
		return p.printResources(ctx, out, paths)
	}
	r, err := p.Runner(ctx, paths)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	return p.Run(ctx, r, out, Header("apply", paths, r.Plays))
}

// Run runs plays, prints what happens, and records it.
func (p *Plays) Run(ctx context.Context, r *playbooks.Runner, out *output.Printer, h record.Header, to ...events.Reporter) error {
	to = slices.Insert(to, 0, out.Reporter(r, events.TextOptions{Trust: p.Fleet.TrustCommand, Recorded: !p.Fleet.Flags.Record.None, Again: Withheld(p.Fleet.Record.Given())}))
	if err := takesBack(r.Plays, p.Fleet.Flags); err != nil {
		return err
	}
	err := p.Fleet.Run(ctx, r, out, h, append(to, p.Fleet.Record.Reporters(r, h)...)...)
	if len(r.TakeBack) == 0 {
		return err
	}
	return exit.Join(err, p.Fleet.takeBack(ctx, r, out))
}

// Render compiles the plays of manifests for a host. command is the name of the calling command, for errors.
func (p *Plays) Render(ctx context.Context, out *output.Printer, command string, paths []string, name string) (rendered []playbooks.RenderedPlay, err error) {
	if err := out.TextOnly(command); err != nil {
		return nil, err
	}
	err = p.OnHost(ctx, out, paths, name, func(ctx context.Context, r *playbooks.Runner, host *inventory.Host, contact bool) error {
		if host == nil {
			return fmt.Errorf("unknown host %q; the last argument is the host to %s for", name, command)
		}
		rendered, err = r.Render(ctx, host, contact)
		return err
	})
	return rendered, err
}

// OnHost calls do with the plays of manifests and one host, which is nil if no host has that name. Without --facts,
// OnHost may contact the host.
func (p *Plays) OnHost(ctx context.Context, out *output.Printer, paths []string, name string, do func(ctx context.Context, r *playbooks.Runner, host *inventory.Host, contact bool) error) error {
	r, err := p.Runner(ctx, paths)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	host := r.Inventory.Host(name)
	contact := p.Fleet.Flags.Variables.Facts == "" && host != nil
	if contact {
		if err := p.Fleet.AddBuilds(r); err != nil {
			return err
		}
		if err := p.Fleet.Unlock(ctx, r, []*inventory.Host{host}); err != nil {
			return err
		}
	}
	ctx, end := p.Fleet.App.UntilStop(ctx)
	defer end()
	err = do(ctx, r, host, contact)
	if failed, ok := errors.AsType[*playbooks.HostError](err); ok {
		out.TellProblems(r)
		r.Events.Report(failed.Event)
		return out.Status(r.Tally.Summary(false))
	}
	return err
}

// ReadStrictly reads plays. With --strict their warnings are errors.
func (p *Plays) ReadStrictly(ctx context.Context, paths []string) ([]*manifest.Play, error) {
	list, err := p.read(ctx, paths)
	if p.Fleet.Flags.Mode.Strict {
		err = errors.Join(err, p.TellWarnings(list))
	}
	return list, err
}
