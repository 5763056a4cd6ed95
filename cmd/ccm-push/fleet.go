package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/access"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/inventories"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/links"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/activity"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/trust"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/start"
)

// A fleet makes the [playbooks.Runner] of a call: its hosts, how to reach them, and what to send them.
type fleet struct {
	app        *app.App
	flags      *flags.All
	inventory  inventories.Reader
	variables  variables
	secrets    access.Unsealer
	connection access.Connections
	authority  access.Authorities
	nats       links.NATS
	workers    links.Workers
	record     recording
	detach     detaching
}

// A purpose describes the use of a runner.
type purpose struct {
	manifests     []string // paths; variables of hosts may be next to them
	adHoc         bool     // no manifest, and so no .env next to it
	newKnownHosts bool     // known_hosts files may be missing
	validate      bool     // no host is contacted, and there may be no inventory
}

// runner gathers everything a run needs but the plays, the host programs, the passwords
// and the reporters. Its dialer must be closed. With an error it returns what there is,
// if anything, for [playbooks.Runner.Validate] to find more errors.
func (f *fleet) runner(ctx context.Context, p purpose) (*playbooks.Runner, error) {
	if _, err := f.secrets.Keys(ctx); err != nil {
		return nil, err
	}
	loadInventory := f.inventory.Load
	if p.validate {
		loadInventory = f.inventory.LoadIfAny
	}
	inv, invErr := loadInventory(ctx, p.manifests...)
	data, dataErr := f.variables.options(ctx, f.app.Environ, !p.adHoc)
	account, err := user.Current()
	if err != nil {
		return nil, errors.Join(invErr, dataErr, fmt.Errorf("finding out who runs this: %w", err))
	}
	connect, err := f.reach(account, p.newKnownHosts)
	err = errors.Join(invErr, dataErr, err)
	var files, keep int
	if !p.validate {
		config, configErr := f.connection.ReadSSHConfig(ctx, account)
		connect.SSH, err = config, errors.Join(err, configErr)
		files, keep = f.flags.Pace.Affordable(f.app.Warn)
	}
	r := &playbooks.Runner{
		Inventory: inv,
		Dialer:    f.connection.Dialer(account),
		Connect:   connect,
		Options: playbooks.Options{
			Run: record.NewID(time.Now()), Check: f.flags.Mode.Check, Diff: f.flags.Mode.Diff != "", Strict: f.flags.Mode.Strict,
			Forks: f.flags.Pace.Forks, Files: files, Keep: keep, Limit: f.flags.Inventory.Limit,
			Holder: app.Holder(account), LockTimeout: f.flags.Pace.LockTimeout, Reconnect: f.flags.Pace.Reconnect, IdleTimeout: f.flags.Pace.IdleTimeout,
			Deadlines: f.flags.Work.Deadlines.Working(), CompileFirst: f.flags.Work.CompileFirst,
			Catalog: data, Version: f.app.Version,
		},
		Registry: f.nats.Services(),
		Lookups:  f.nats.Lookups(),
		Told:     f.record.told(),
		Now:      time.Now,
		NewNonce: rand.Text,
	}
	f.flags.Rollout.Into(&r.Options)
	if err != nil {
		return r, err
	}
	r.Dialer.TrustHint = func(t transport.Target, _ ssh.PublicKey) string {
		hosts := trust.Fleet{Inventory: r.Inventory, Connect: r.Connect}
		return "compare the fingerprint with the one on the console of the host; if they are equal, trust the key: " + f.trustCommand([]string{hosts.Selectable(t)})
	}
	return r, nil
}

// reach returns the options to reach hosts, without ssh_config.
func (f *fleet) reach(account *user.User, newKnownHosts bool) (reach.Options, error) {
	o, err := f.connection.Options(account, newKnownHosts)
	o.Limits = f.flags.Work.Deadlines.Limits()
	return o, err
}

// trustCommand is a command line that trusts hosts of this inventory.
func (f *fleet) trustCommand(hosts []string) string {
	return trust.CommandLine(f.flags.Inventory.Paths, f.flags.Connection.Given.KnownHosts, hosts)
}

// runnerFor is a runner for a command that is about the hosts of a pattern.
func (f *fleet) runnerFor(ctx context.Context, pattern string, p purpose) (*playbooks.Runner, []*inventory.Host, error) {
	r, err := f.runner(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	hosts, err := f.inventory.SelectHosts(r.Inventory, pattern)
	return r, hosts, err
}

// reachHosts prepares a runner to query hosts, itself or through workers. The caller must call done afterwards.
func (f *fleet) reachHosts(ctx context.Context, r *playbooks.Runner, hosts []*inventory.Host) (done func(), err error) {
	if f.flags.Workers.URL == "" {
		return func() {}, f.unlock(ctx, r, hosts)
	}
	if err := errors.Join(f.connection.AddSecrets(ctx, &r.Connect), r.CheckReach(hosts)); err != nil {
		return nil, err
	}
	folder, err := os.Getwd()
	if err == nil && r.BuildID == "" { // by which workers know that both are the same ccm-push
		err = f.addBuilds(r)
	}
	if err != nil {
		return nil, err
	}
	f.workers.Recipe = &parcel.Recipe{Folder: folder}
	c, err := f.coordinator(ctx, r, false)
	if err != nil {
		return nil, err
	}
	done = func() {
		if err := c.Close(ctx); err != nil {
			f.app.Warn("data of the call stays in NATS, encrypted, for up to a week: " + err.Error())
		}
	}
	if err := r.EnterAll(ctx, f.app.Stop, hosts); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// addBuilds adds to a runner the host programs that it can send.
func (f *fleet) addBuilds(r *playbooks.Runner) error {
	list, err := f.flags.Work.LoadBuilds()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("this ccm-push was built without host programs: build ccm-push with make, or pass --module-dir FOLDER")
	}
	r.BuildID = list[0].ID
	for _, b := range list {
		build := start.Build{
			OS: b.OS, Arch: b.Arch, SHA256: b.SHA256, Size: b.Size,
			Compressed: b.Compressed, CompressedSize: b.CompressedSize, CompressedSHA256: b.CompressedSHA256,
		}
		if b.Full {
			r.FullBuilds = append(r.FullBuilds, build)
		} else {
			r.Builds = append(r.Builds, build)
		}
	}
	return nil
}

// unlock adds to a runner the secrets to log in to hosts, for a command that concerns only these hosts.
func (f *fleet) unlock(ctx context.Context, r *playbooks.Runner, hosts []*inventory.Host) error {
	if err := f.connection.AddSecrets(ctx, &r.Connect); err != nil {
		return err
	}
	if err := r.CheckReach(hosts); err != nil {
		return errors.Join(err, r.CheckFiles(hosts))
	}
	return errors.Join(r.Unlock(ctx, hosts), r.CheckFiles(hosts))
}

// run applies the plays of a runner to the fleet, or lists their hosts. h describes the run for its record; a run that
// is not recorded has none.
func (f *fleet) run(ctx context.Context, r *playbooks.Runner, p *output.Printer, h record.Header, to ...events.Reporter) error {
	if f.flags.Inventory.ListHosts {
		return inventories.PrintPlayHosts(r, p)
	}
	if err := f.detach.check(h); err != nil {
		return err
	}
	if f.flags.Mode.Step {
		r.Step = playbooks.NewStepper(f.app.AskLine)
	}
	if err := f.addBuilds(r); err != nil {
		return err
	}
	authority, err := f.authority.Authority()
	if err != nil {
		return err
	}
	r.Authority = authority
	r.Options.Diff = r.Options.Diff || p.Flags.Output.Reports.HaveDiffs()
	files, closeFiles, err := fileReporters(&p.Flags.Output.Reports)
	if err != nil {
		return err
	}
	if err := f.connection.AddSecrets(ctx, &r.Connect); err != nil {
		return errors.Join(err, closeFiles())
	}
	traces, closeTrace, err := traceReporters(ctx, p.Flags.Output.Reports.Trace, f.app)
	if err != nil {
		return errors.Join(err, closeFiles())
	}
	r.Options.Follow = p.Flags.Output.Follow
	if p.Flags.Output.Stream {
		r.Options.Follow = "all"
	}
	r.Tally = &events.Tally{}
	steering := newSteering(r, f.flags, f.app)
	r.Events = events.NewStream(r.Options.Run, time.Now, slices.Concat([]events.Reporter{r.Tally}, to, files, traces, steering.reporters(), f.detach.reporters(r))...).WithMask(r.Options.Catalog.Mask)
	r.Activity = &activity.Tracker{}
	show := func() func(context.Context) error { return p.Show(r.Activity, r.Step != nil, f.record.took(r, h)) }
	end := show()
	if f.app.CanAsk() && !f.flags.Detach.Asked {
		r.Ask = func(ctx context.Context, question string) (string, error) { // the live display would cover the question
			_ = end(ctx)
			defer func() { end = show() }()
			return f.app.AskLine(ctx, question)
		}
	}
	if p.Flags.Output.Verbose > 1 {
		f.workers.ListFile = f.app.Say
	}
	summary, err := f.play(ctx, r, true)
	steering.close()
	shown := end(ctx)
	closeErr := errors.Join(closeFiles(), closeTrace())
	if err != nil {
		return err
	}
	if err := errors.Join(r.Events.Err(), shown, closeErr); err != nil { // hosts may have changed: this is not status 1
		return exit.Unwritten(err)
	}
	return p.Status(summary)
}

// play takes the plays of a runner over hosts: this machine does, or workers do. shared is as [workersFlags.coordinator] has it.
func (f *fleet) play(ctx context.Context, r *playbooks.Runner, shared bool) (events.Summary, error) {
	coordinator, err := f.coordinator(ctx, r, shared)
	if err != nil {
		return events.Summary{}, err
	}
	stop, stopped := f.app.Stop, func() {}
	if coordinator != nil {
		stop, stopped = links.FirstOf(f.app.Stop, coordinator.Halted(), f.workers.Shared.Lost())
	}
	summary, err := r.Run(ctx, stop)
	stopped()
	if coordinator != nil {
		if closeErr := coordinator.Close(ctx); closeErr != nil { // hosts may have changed: this is not a failure of theirs
			f.app.Warn("data of the run stays in NATS, encrypted, for up to a week: " + closeErr.Error())
		}
		if shared {
			f.workers.Shared.Finish(ctx, f.app.Warn)
		}
	}
	return summary, err
}
