package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/workers"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

// workersFlags say whether other machines work on the hosts of a run.
type workersFlags struct {
	fleet    *fleet
	url      string // of the queue; "" has this machine work on them
	key      string // this machine's own
	list     string // of keys of workers
	validity time.Duration
	size     int
	wait     time.Duration // limit of the wait for workers before the run begins; 0 means no limit
	// operators is the file with public keys of who else may go on with runs; "" is the default.
	operators string

	set    *pflag.FlagSet
	recipe *parcel.Recipe // of the manifests that were read; nil if there are none
	link   *natsconn.Link // to the queue; nil until it is needed
	shared sharing
	// listFile gets a line for each file that workers get; nil drops the lines.
	listFile func(string)
	// answered reports whether workers receive the answers of this run; nil before the run.
	answered atomic.Pointer[func() bool]

	mu    sync.Mutex
	files []string // that were read for it
}

const (
	workersFlag = "workers"
	// workersVariable stands for it where it is not given.
	workersVariable = "CCM_PUSH_WORKERS"
)

const (
	defaultValidity  = 10 * time.Minute
	shortestValidity = time.Minute
)

// The files that are looked for in the folder of the configuration.
const (
	coordinatorKey   = "coordinator.key"
	workerKey        = "worker.key"
	workerList       = "workers.keys"
	coordinatorsList = "coordinators.keys"
	operatorsList    = "operators.keys"
)

func (f *workersFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.url, workersFlag, "", "NATS `URL`, tls:// or nats://, through which workers get hosts (default $CCM_PUSH_WORKERS); '' runs all hosts from this machine")
	set.StringVar(&f.key, "workers-key", "", "private key `file` of this machine (default ~/.config/ccm-push/coordinator.key)")
	set.StringVar(&f.list, "workers-list", "", "`file` with the public keys of workers that may get hosts (default ~/.config/ccm-push/workers.keys)")
	set.StringVar(&f.operators, "workers-operators", "", "`file` with the public keys of other machines that may follow and resume runs (default ~/.config/ccm-push/operators.keys, if it exists)")
	f.validity = defaultValidity
	set.Var(seconds{&f.validity}, "cert-validity", "validity of the login certificates of workers, at least 1m; they are renewed (default 10m, or --deadline host plus 1m if that is shorter)")
	set.Var(seconds{&f.wait}, "wait-workers", "time to wait for a worker of each site before the run begins, such as 2m; after that the run ends with status 1 and has changed nothing")
	set.IntVar(&f.size, "shard", 0, "maximum number of hosts in one group of a worker (default 32 to 256)")
}

func (f *workersFlags) validate() error {
	if !f.set.Changed(workersFlag) {
		f.url = f.fleet.app.getenv(workersVariable)
	}
	switch {
	case f.validity < shortestValidity:
		return fmt.Errorf("--cert-validity %v: at least %v", f.validity, shortestValidity)
	case f.wait <= 0 && f.set.Changed("wait-workers"):
		return fmt.Errorf("--wait-workers %v: write a time, such as 2m", f.wait)
	case f.size < 1 && f.set.Changed("shard"):
		return fmt.Errorf("--shard %d: at least 1", f.size)
	case f.url == "":
		for _, name := range []string{"workers-key", "workers-list", "workers-operators", "cert-validity", "wait-workers", "shard"} {
			if f.set.Changed(name) {
				return fmt.Errorf("--%s needs --workers URL", name)
			}
		}
	}
	return nil
}

// close ends the connection to the queue, if there is one.
func (f *workersFlags) close(ctx context.Context) {
	f.shared.end(ctx, f.fleet.app.warn) // there is something if the run was refused
	f.shared.giveBack(ctx, f.fleet.app.warn)
	if f.link != nil {
		f.link.Close()
	}
}

// configuration is where a file of the configuration is.
func (a *app) configuration(name string) string {
	return filepath.Join(cmp.Or(a.getenv("XDG_CONFIG_HOME"), filepath.Join(a.home(), ".config")), "ccm-push", name)
}

// note takes a file that was read for the plays.
func (f *workersFlags) note(path string) {
	if f.url == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = append(f.files, path)
}

// plan notes what the plays are made of.
func (f *workersFlags) plan(p *plays, paths []string) error {
	if f.url == "" {
		return nil
	}
	archives, err := p.archives.Unpacked()
	if err != nil {
		return fmt.Errorf("--workers: %w", err)
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	v := &f.fleet.variables
	f.recipe = &parcel.Recipe{
		Folder: folder, Parameters: v.parameters, Rollout: f.fleet.rollout.file, Hiera: v.document, Selection: p.selection.selection,
		Archives: archives, Sealed: &f.fleet.secrets.sealed,
	}
	for _, path := range paths {
		f.recipe.Paths = append(f.recipe.Paths, source.Plain(path))
	}
	return nil
}

// adHoc notes what an ad-hoc call is made of.
func (f *workersFlags) adHoc(call *parcel.AdHoc) error {
	folder, err := os.Getwd()
	f.recipe = &parcel.Recipe{AdHoc: call, Folder: folder}
	return err
}

// read are the files that were read for the plays.
func (f *workersFlags) read() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.files)
}

// errFromHere is that workers cannot do something.
var errFromHere = errors.New("--workers: workers cannot do this; remove --workers, or pass --workers ''")

// recipeOf is what plays are made of.
func (f *workersFlags) recipeOf(plays []*manifest.Play) (parcel.Recipe, error) {
	switch {
	case slices.ContainsFunc(plays, func(p *manifest.Play) bool { return p.Undo != nil }):
		folder, err := os.Getwd()
		return parcel.Recipe{Undo: parcel.NewUndo(plays), Folder: folder}, err
	case f.recipe == nil:
		return parcel.Recipe{}, errFromHere
	}
	recipe := *f.recipe
	recipe.Files = f.read
	return recipe, nil
}

// withoutFiles are the files and folders that no worker gets, where they stand in the folder of a play: inventories, of which it
// gets what concerns its hosts, and what is the operator's own.
func (f *workersFlags) withoutFiles(ctx context.Context) ([]string, error) {
	a, c, s := f.fleet.app, &f.fleet.connection, &f.fleet.secrets
	inventories, err := f.fleet.inventory.sources()
	if err != nil {
		return nil, err
	}
	nats := f.fleet.nats.config(f.fleet.nats.given, natsFlag)
	own := []string{
		f.key, c.secrets.File, c.secrets.BecomeFile, c.secrets.PassphraseFile, nats.Creds, nats.NKey, nats.Key,
		filepath.Join(a.home(), ".ssh"), a.configuration(""),
	}
	if store, err := a.records(); err == nil { // else there are no records
		own = append(own, store.Folder)
	}
	return slices.Concat(inventories, own, c.given.PrivateKeys, s.vault.Named(), s.age.keys(ctx).Paths()), nil
}

// coordinator gives the workers of a run; nil if this machine works on its hosts. It has to be closed. Others can follow a
// run that is shared, and go on with it.
func (f *workersFlags) coordinator(ctx context.Context, r *playbooks.Runner, shared bool) (*workers.Coordinator, error) {
	if f.url == "" {
		return nil, nil
	}
	recipe, err := f.recipeOf(r.Plays)
	if err != nil {
		return nil, err
	}
	a := f.fleet.app
	key, list, err := f.keys()
	if err != nil {
		return nil, err
	}
	authority, err := f.fleet.authority.authority()
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
	q, err := f.queue(ctx)
	if err != nil {
		return nil, err
	}
	c := &workers.Coordinator{
		List:  f.listFile,
		Queue: q, Key: key, Workers: list, Recipe: recipe, Runner: r, Warn: a.warn, Size: f.size, URL: f.address(), WaitWorkers: f.wait,
		Certify: func(ctx context.Context, of workers.Certificate) ([]byte, time.Duration, error) {
			return f.certify(ctx, authority, r.Options.Run, of)
		},
	}
	if shared && !f.fleet.record.none { // else there is nothing to follow, or to go on from
		h, err := f.handover(ctx)
		if err != nil {
			return nil, err
		}
		c.Share = func(ctx context.Context, name string) (<-chan struct{}, error) {
			return f.shared.share(ctx, h, r.Options.Run, name)
		}
	}
	if err := c.Begin(ctx); err != nil {
		return nil, err
	}
	r.Workers = c
	answered := c.Answered
	f.answered.Store(&answered)
	return c, nil
}

// address returns the URL of --workers for hints, without a user and password.
func (f *workersFlags) address() string {
	u, err := url.Parse(f.url)
	if err != nil || u.User == nil {
		return f.url
	}
	u.User = nil
	return u.String()
}

// keys returns the key of this machine and the list of workers.
func (f *workersFlags) keys() (key keyring.Key, list *keyring.KeyFile, err error) {
	a := f.fleet.app
	if key, err = keyring.ReadKey(cmp.Or(f.key, a.configuration(coordinatorKey))); err != nil {
		return key, nil, fmt.Errorf("--workers: the key by which workers know this machine: %w", err)
	}
	if list, err = keyring.OpenWorkerList(cmp.Or(f.list, a.configuration(workerList)), a.say); err != nil {
		err = fmt.Errorf("--workers: the keys of workers: %w", err)
	}
	return key, list, err
}

// certificateTime returns the validity of certificates of workers. They are renewed while a worker needs them, so they can be
// shorter than the run.
func (f *workersFlags) certificateTime() time.Duration {
	if f.set.Changed("cert-validity") {
		return f.validity
	}
	host := cmp.Or(f.fleet.work.deadlines.working().Host, defaultValidity)
	return max(min(defaultValidity, host+shortestValidity), shortestValidity)
}

// certify signs a certificate for the key of a worker.
func (f *workersFlags) certify(ctx context.Context, by *usercert.Authority, run string, of workers.Certificate) ([]byte, time.Duration, error) {
	key, err := ssh.ParsePublicKey(of.SSHKey)
	if err != nil {
		return nil, 0, err
	}
	valid := f.certificateTime()
	request := usercert.Request{Key: key, ID: "ccm-push-worker-" + run, Principals: of.Principals, SourceAddresses: of.Sources, ValidFor: valid}
	if of.Jumps {
		request.Extensions = []string{"permit-port-forwarding"}
	}
	cert, err := by.Certificate(ctx, request)
	if err != nil {
		return nil, 0, err
	}
	return ssh.MarshalAuthorizedKey(cert), valid, nil
}

// config returns how to log in at the URL of --workers. Only the URL differs from the flags of --nats: data may be in another NATS.
func (f *workersFlags) config() natsconn.Config {
	given := f.fleet.nats.given
	given.Servers, given.Context = f.url, ""
	return f.fleet.nats.config(given, workersFlag)
}

// connection returns the connection to the URL of --workers. It is dialled once.
func (f *workersFlags) connection() *natsconn.Link {
	if f.link == nil {
		config := f.config()
		warn := config.Warn
		config.Warn = func(text string) {
			// A server forgets which answers it allows when its users change. Workers without an answer send the question again.
			if answered := f.answered.Load(); answered != nil && strings.Contains(text, `Publish to "_INBOX.`) && (*answered)() {
				return
			}
			warn(text)
		}
		config.Outage = f.fleet.app.warn // each time: runs that watch go on for weeks
		f.link = natsconn.New(config)
	}
	return f.link
}

// queue is where coordinators and workers meet.
func (f *workersFlags) queue(ctx context.Context) (*queue.JetStream, error) {
	conn, err := f.connection().Conn(ctx)
	if err != nil {
		return nil, err
	}
	return queue.NewJetStream(conn, 0)
}
