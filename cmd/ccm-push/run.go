package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/extravars"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport"
)

// manifests runs manifest files, or lists their hosts. What is wrong with any
// file is reported together.
func (a *app) manifests(ctx context.Context, paths []string) error {
	if a.flags.resources != "" {
		return errors.New("--resources is for ad-hoc calls: a manifest brings along the folder resources/ beside it")
	}
	if a.flags.listResources {
		waiting, end := a.untilStop(ctx)
		plays, err := a.load(waiting, paths)
		end()
		switch {
		case a.stopped():
			return exitStatus(interruptedStatus)
		case err != nil:
			return err
		}
		return a.listResources(plays)
	}
	r, err := a.manifestRunner(ctx, paths)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	return a.run(ctx, r, events.TextOptions{})
}

// load reads plays, and leaves in them what the run is about.
func (a *app) load(ctx context.Context, paths []string) ([]*manifest.Play, error) {
	plays, err := a.read(ctx, paths)
	if err != nil {
		return nil, err
	}
	if err := a.tellWarnings(plays); err != nil {
		return nil, err
	}
	return a.flags.selection().Select(plays)
}

// tellWarnings shows what looks like a mistake in manifests; with --strict it is an error.
func (a *app) tellWarnings(plays []*manifest.Play) error {
	var errs yamlpos.Errors
	for _, w := range manifest.Warnings(plays) {
		if !a.flags.warningsAreErrors {
			a.warn(w)
			continue
		}
		errs.Add(&yamlpos.Error{Msg: w})
	}
	return errs.Err()
}

// read reads plays from files, folders and archives, which are unpacked until
// the program ends. The end of ctx ends downloads.
func (a *app) read(ctx context.Context, paths []string) ([]*manifest.Play, error) {
	archives := &source.Unpacker{}
	a.atEnd = append(a.atEnd, func() { archives.Close() })
	options := []load.Option{load.WithArchives(archives)}
	if a.flags.parameters != "" {
		options = append(options, load.WithParameters(a.flags.parameters))
	}
	plays, err := load.Files(ctx, paths, a.registry, options...)
	isDocument := func(p *manifest.Play) bool { return p.Configuration != nil }
	if err == nil && a.flags.parameters != "" && !slices.ContainsFunc(plays, isDocument) {
		err = errors.New("--parameters: no file is a DSC configuration document; -e gives data to manifests")
	}
	return plays, err
}

// manifestRunner is the runner of the plays in files.
func (a *app) manifestRunner(ctx context.Context, paths []string) (*playbooks.Runner, error) {
	waiting, end := a.untilStop(ctx)
	plays, playErr := a.load(waiting, paths)
	hiera, hieraErr := extravars.ReadHiera(waiting, a.flags.hiera, a.getenv(extravars.HieraVariable), a.warn)
	end()
	if a.stopped() {
		return nil, exitStatus(interruptedStatus)
	}
	r, err := a.runner(ctx, paths...)
	if err := errors.Join(playErr, hieraErr, err); err != nil {
		return nil, err
	}
	r.Plays = plays
	for _, path := range paths {
		r.Options.Manifests = append(r.Options.Manifests, source.ShownName(path))
	}
	r.Options.Catalog.Hiera = hiera
	return r, nil
}

// run takes the plays of r over the fleet, or lists their hosts.
func (a *app) run(ctx context.Context, r *playbooks.Runner, text events.TextOptions) error {
	return a.report(ctx, r, a.reporter(text, r.Plays...))
}

// report is run with other reporters.
func (a *app) report(ctx context.Context, r *playbooks.Runner, to ...events.Reporter) error {
	if a.flags.listHosts {
		return a.listPlays(r)
	}
	if err := a.addBuilds(r); err != nil {
		return err
	}
	if err := a.addPasswords(ctx, r); err != nil {
		return err
	}
	r.Tally = &events.Tally{}
	r.Events = events.NewStream(r.Options.Run, time.Now, append([]events.Reporter{r.Tally}, to...)...)
	summary, err := r.Run(ctx, a.stop)
	if err != nil {
		return err
	}
	if err := r.Events.Err(); err != nil { // hosts have been worked on: this is not status 1
		return unreported{err}
	}
	return a.status(summary)
}

// unreported is a run whose outcome could not be written.
type unreported struct{ error }

// ExitCode implements coder.
func (unreported) ExitCode() int { return 2 }

// status is the exit status that a summary amounts to, or nil for 0.
func (a *app) status(s events.Summary) error {
	if s.Interrupted {
		return exitStatus(interruptedStatus)
	}
	if status := s.ExitStatus(a.flags.detailedExitCode); status != 0 {
		return exitStatus(status)
	}
	return nil
}

// runner gathers everything a run needs but the plays, the host programs and the
// reporters. The manifests are named for what stands beside them.
func (a *app) runner(ctx context.Context, manifests ...string) (*playbooks.Runner, error) {
	inv, invErr := a.loadInventory(ctx, manifests...)
	options, optionsErr := a.catalogOptions()
	if err := errors.Join(invErr, optionsErr); err != nil {
		return nil, err
	}
	account, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("finding out who runs this: %w", err)
	}
	connect, err := a.connect(account)
	ssh, sshErr := a.sshConfig(ctx, account)
	if err := errors.Join(err, sshErr); err != nil {
		return nil, err
	}
	connect.SSH = ssh
	forks, keep := a.affordable(a.flags.forks, a.keep())
	r := &playbooks.Runner{
		Inventory: inv,
		Dialer:    &transport.Dialer{Home: a.home(), AgentSocket: a.getenv("SSH_AUTH_SOCK"), Shell: a.getenv("SHELL"), Retries: a.flags.retries()},
		Connect:   connect,
		Options: playbooks.Options{
			Run: runID(time.Now()), Check: a.flags.check, Diff: a.flags.diff, Strict: a.flags.warningsAreErrors,
			Forks: forks, Keep: keep, Limit: a.flags.limit,
			Holder: holder(account), LockTimeout: a.flags.lockTimeout, Deadlines: a.flags.deadlines.working(), CompileFirst: a.flags.compileFirst,
			Catalog: options, Version: version,
		},
		Now:      time.Now,
		NewNonce: rand.Text,
	}
	r.Dialer.TrustHint = a.trustHint(r)
	r.Dialer.LocalEnv = a.localEnv(account)
	return r, nil
}

// runnerFor is a runner for a command that is about the hosts of a pattern. Its dialer
// must be closed by the caller.
func (a *app) runnerFor(ctx context.Context, pattern string) (*playbooks.Runner, []*inventory.Host, error) {
	r, err := a.runner(ctx)
	if err != nil {
		return nil, nil, err
	}
	hosts, err := a.selectHosts(r.Inventory, pattern)
	return r, hosts, err
}

// tellProblems has a command that prints answers, and not events, report on stderr
// which hosts have none.
func (a *app) tellProblems(r *playbooks.Runner) {
	r.Tally = &events.Tally{}
	r.Events = events.NewStream(r.Options.Run, time.Now, r.Tally, events.NewText(a.err, events.TextOptions{}))
}

// connect is what the command line says about reaching hosts.
func (a *app) connect(account *user.User) (reach.Options, error) {
	policy, err := a.flags.hostKeys()
	err = errors.Join(err, a.readable("--private-key", a.flags.privateKeys))
	if policy == transport.Strict && !a.flags.newKnownHosts { // otherwise the file may be about to be made
		err = errors.Join(err, a.readable("--known-hosts", a.flags.knownHosts))
	}
	return reach.Options{
		User: a.flags.user, LocalUser: account.Username,
		PrivateKeys: a.flags.privateKeys, KnownHosts: a.flags.knownHosts,
		HostKeys: policy, HostKeysGiven: a.flags.hostKeyChecking != "",
		Timeout: a.flags.timeout, Limits: a.flags.deadlines.limits(),
		Become: a.flags.become || a.flags.becomeUser != "", BecomeUser: a.flags.becomeUser,
		BecomeMethod: a.flags.becomeMethod,
		RetriesGiven: a.flags.retries() != 0,
		Warn:         a.warnOnce,
	}, err
}

// readable reports the files of a flag that cannot be read: no host is to blame.
func (a *app) readable(flag string, paths []string) error {
	var errs []error
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~/"); ok { // as the connection will read it
			path = filepath.Join(a.home(), rest)
		}
		f, err := os.Open(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", flag, err))
			continue
		}
		f.Close()
	}
	return errors.Join(errs...)
}

// keep is --keep as the runner has it, where 0 is the default.
func (a *app) keep() int {
	if a.flags.keep == 0 {
		return -1
	}
	return a.flags.keep
}

// catalogOptions reads what the command line adds to the data of the plays, but
// for --hiera.
func (a *app) catalogOptions() (catalog.Options, error) {
	extra, extraErr := extravars.Read(a.flags.extra)
	facts, factsErr := extravars.ReadFacts(a.flags.facts, a.flags.fact)
	environ := make(map[string]any, len(a.environ))
	for name, value := range a.environ {
		environ[name] = value
	}
	return catalog.Options{
		Environ: environ, EnvFile: a.words.adHoc == "" && !a.flags.noReadEnv, Extra: extra, Facts: facts,
	}, errors.Join(extraErr, factsErr)
}

// runID names a run: when it began, and something that no other run has.
func runID(now time.Time) string {
	return now.UTC().Format("20060102T150405Z-") + strings.ToLower(rand.Text()[:6])
}

// holder says who runs this, for those who find the lock taken.
func holder(account *user.User) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s@%s (pid %d)", account.Username, host, os.Getpid())
}
