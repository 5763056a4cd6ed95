package fleet

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

// A Fleet makes the [playbooks.Runner] of a call: its hosts, how to reach them, and what to send them.
type Fleet struct {
	App        *app.App
	Flags      *flags.All
	Inventory  inventories.Reader
	Variables  Variables
	Secrets    access.Unsealer
	Connection access.Connections
	Authority  access.Authorities
	NATS       links.NATS
	Workers    links.Workers
	Record     Recording
	Detach     Detaching
}

// A Purpose describes the use of a runner.
type Purpose struct {
	Manifests     []string // paths; variables of hosts may be next to them
	AdHoc         bool     // no manifest, and so no .env next to it
	NewKnownHosts bool     // known_hosts files may be missing
	Validate      bool     // no host is contacted, and there may be no inventory
}

// Runner gathers everything a run needs but the plays, the host programs, the passwords
// and the reporters. Its dialer must be closed. With an error it returns what there is,
// if anything, for [playbooks.Runner.Validate] to find more errors.
func (f *Fleet) Runner(ctx context.Context, p Purpose) (*playbooks.Runner, error) {
	if _, err := f.Secrets.Keys(ctx); err != nil {
		return nil, err
	}
	loadInventory := f.Inventory.Load
	if p.Validate {
		loadInventory = f.Inventory.LoadIfAny
	}
	inv, invErr := loadInventory(ctx, p.Manifests...)
	data, dataErr := f.Variables.Options(ctx, f.App.Environ, !p.AdHoc)
	account, err := user.Current()
	if err != nil {
		return nil, errors.Join(invErr, dataErr, fmt.Errorf("finding out who runs this: %w", err))
	}
	connect, err := f.reach(account, p.NewKnownHosts)
	err = errors.Join(invErr, dataErr, err)
	var files, keep int
	if !p.Validate {
		config, configErr := f.Connection.ReadSSHConfig(ctx, account)
		connect.SSH, err = config, errors.Join(err, configErr)
		files, keep = f.Flags.Pace.Affordable(f.App.Warn)
	}
	r := &playbooks.Runner{
		Inventory: inv,
		Dialer:    f.Connection.Dialer(account),
		Connect:   connect,
		Options: playbooks.Options{
			Run: record.NewID(time.Now()), Check: f.Flags.Mode.Check, Diff: f.Flags.Mode.Diff != "", Strict: f.Flags.Mode.Strict,
			Forks: f.Flags.Pace.Forks, Files: files, Keep: keep, Limit: f.Flags.Inventory.Limit,
			Holder: app.Holder(account), LockTimeout: f.Flags.Pace.LockTimeout, Reconnect: f.Flags.Pace.Reconnect, IdleTimeout: f.Flags.Pace.IdleTimeout,
			Deadlines: f.Flags.Work.Deadlines.Working(), CompileFirst: f.Flags.Work.CompileFirst,
			Catalog: data, Version: f.App.Version,
		},
		Registry: f.NATS.Services(),
		Lookups:  f.NATS.Lookups(),
		Told:     f.Record.told(),
		Now:      time.Now,
		NewNonce: rand.Text,
	}
	f.Flags.Rollout.Into(&r.Options)
	if err != nil {
		return r, err
	}
	r.Dialer.TrustHint = func(t transport.Target, _ ssh.PublicKey) string {
		hosts := trust.Fleet{Inventory: r.Inventory, Connect: r.Connect}
		return "compare the fingerprint with the one on the console of the host; if they are equal, trust the key: " + f.TrustCommand([]string{hosts.Selectable(t)})
	}
	return r, nil
}

// reach returns the options to reach hosts, without ssh_config.
func (f *Fleet) reach(account *user.User, newKnownHosts bool) (reach.Options, error) {
	o, err := f.Connection.Options(account, newKnownHosts)
	o.Limits = f.Flags.Work.Deadlines.Limits()
	return o, err
}

// TrustCommand is a command line that trusts hosts of this inventory.
func (f *Fleet) TrustCommand(hosts []string) string {
	return trust.CommandLine(f.Flags.Inventory.Paths, f.Flags.Connection.Given.KnownHosts, hosts)
}

// RunnerFor is a runner for a command that is about the hosts of a pattern.
func (f *Fleet) RunnerFor(ctx context.Context, pattern string, p Purpose) (*playbooks.Runner, []*inventory.Host, error) {
	r, err := f.Runner(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	hosts, err := f.Inventory.SelectHosts(r.Inventory, pattern)
	return r, hosts, err
}

// ReachHosts prepares a runner to query hosts, itself or through workers. The caller must call done afterwards.
func (f *Fleet) ReachHosts(ctx context.Context, r *playbooks.Runner, hosts []*inventory.Host) (done func(), err error) {
	if f.Flags.Workers.URL == "" {
		return func() {}, f.Unlock(ctx, r, hosts)
	}
	if err := errors.Join(f.Connection.AddSecrets(ctx, &r.Connect), r.CheckReach(hosts)); err != nil {
		return nil, err
	}
	folder, err := os.Getwd()
	if err == nil && r.BuildID == "" { // by which workers know that both are the same ccm-push
		err = f.AddBuilds(r)
	}
	if err != nil {
		return nil, err
	}
	f.Workers.Recipe = &parcel.Recipe{Folder: folder}
	c, err := f.coordinator(ctx, r, false)
	if err != nil {
		return nil, err
	}
	done = func() {
		if err := c.Close(ctx); err != nil {
			f.App.Warn("data of the call stays in NATS, encrypted, for up to a week: " + err.Error())
		}
	}
	if err := r.EnterAll(ctx, f.App.Stop, hosts); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// AddBuilds adds to a runner the host programs that it can send.
func (f *Fleet) AddBuilds(r *playbooks.Runner) error {
	list, err := f.Flags.Work.LoadBuilds()
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

// Unlock adds to a runner the secrets to log in to hosts, for a command that concerns only these hosts.
func (f *Fleet) Unlock(ctx context.Context, r *playbooks.Runner, hosts []*inventory.Host) error {
	if err := f.Connection.AddSecrets(ctx, &r.Connect); err != nil {
		return err
	}
	if err := r.CheckReach(hosts); err != nil {
		return errors.Join(err, r.CheckFiles(hosts))
	}
	return errors.Join(r.Unlock(ctx, hosts), r.CheckFiles(hosts))
}

// Run applies the plays of a runner to the fleet, or lists their hosts. h describes the run for its record; a run that
// is not recorded has none.
func (f *Fleet) Run(ctx context.Context, r *playbooks.Runner, p *output.Printer, h record.Header, to ...events.Reporter) error {
	if f.Flags.Inventory.ListHosts {
		return inventories.PrintPlayHosts(r, p)
	}
	if err := f.Detach.check(h); err != nil {
		return err
	}
	if f.Flags.Mode.Step {
		r.Step = playbooks.NewStepper(f.App.AskLine)
	}
	if err := f.AddBuilds(r); err != nil {
		return err
	}
	authority, err := f.Authority.Authority()
	if err != nil {
		return err
	}
	r.Authority = authority
	r.Options.Diff = r.Options.Diff || p.Flags.Output.Reports.HaveDiffs()
	files, closeFiles, err := FileReporters(&p.Flags.Output.Reports)
	if err != nil {
		return err
	}
	if err := f.Connection.AddSecrets(ctx, &r.Connect); err != nil {
		return errors.Join(err, closeFiles())
	}
	traces, closeTrace, err := traceReporters(ctx, p.Flags.Output.Reports.Trace, f.App)
	if err != nil {
		return errors.Join(err, closeFiles())
	}
	r.Options.Follow = p.Flags.Output.Follow
	if p.Flags.Output.Stream {
		r.Options.Follow = "all"
	}
	r.Tally = &events.Tally{}
	steering := newSteering(r, f.Flags, f.App)
	r.Events = events.NewStream(r.Options.Run, time.Now, slices.Concat([]events.Reporter{r.Tally}, to, files, traces, steering.reporters(), f.Detach.reporters(r))...).WithMask(r.Options.Catalog.Mask)
	r.Activity = &activity.Tracker{}
	show := func() func(context.Context) error { return p.Show(r.Activity, r.Step != nil, f.Record.took(r, h)) }
	end := show()
	if f.App.CanAsk() && !f.Flags.Detach.Asked {
		r.Ask = func(ctx context.Context, question string) (string, error) { // the live display would cover the question
			_ = end(ctx)
			defer func() { end = show() }()
			return f.App.AskLine(ctx, question)
		}
	}
	if p.Flags.Output.Verbose > 1 {
		f.Workers.ListFile = f.App.Say
	}
	summary, err := f.Play(ctx, r, true)
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

// Play takes the plays of a runner over hosts: this machine does, or workers do. shared is as [workersFlags.coordinator] has it.
func (f *Fleet) Play(ctx context.Context, r *playbooks.Runner, shared bool) (events.Summary, error) {
	coordinator, err := f.coordinator(ctx, r, shared)
	if err != nil {
		return events.Summary{}, err
	}
	stop, stopped := f.App.Stop, func() {}
	if coordinator != nil {
		stop, stopped = links.FirstOf(f.App.Stop, coordinator.Halted(), f.Workers.Shared.Lost())
	}
	summary, err := r.Run(ctx, stop)
	stopped()
	if coordinator != nil {
		if closeErr := coordinator.Close(ctx); closeErr != nil { // hosts may have changed: this is not a failure of theirs
			f.App.Warn("data of the run stays in NATS, encrypted, for up to a week: " + closeErr.Error())
		}
		if shared {
			f.Workers.Shared.Finish(ctx, f.App.Warn)
		}
	}
	return summary, err
}
