package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/workers"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

// A workersLink reaches the workers of a call, through the queue.
type workersLink struct {
	app   *app.App
	flags *flags.All

	recipe *parcel.Recipe // recipe of the manifests that were read; nil means none
	link   *natsconn.Link // to the queue; nil until it is needed
	shared sharing
	// listFile gets a line for each file that workers get; nil drops the lines.
	listFile func(string)
	// answered reports whether workers receive the answers of this run; nil before the run.
	answered atomic.Pointer[func() bool]

	mu    sync.Mutex
	files []string // files read for the plays
}

// The files that are looked for in the folder of the configuration.
const (
	coordinatorKey   = "coordinator.key"
	workerKey        = "worker.key"
	workerList       = "workers.keys"
	coordinatorsList = "coordinators.keys"
	operatorsList    = "operators.keys"
)

// close ends the connection to the queue, if there is one.
func (f *workersLink) close(ctx context.Context) {
	f.shared.end(ctx, f.app.Warn) // there is something if the run was refused
	f.shared.giveBack(ctx, f.app.Warn)
	if f.link != nil {
		f.link.Close()
	}
}

// note takes a file that was read for the plays.
func (f *workersLink) note(path string) {
	if f.flags.Workers.URL == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = append(f.files, path)
}

// adHoc notes what an ad-hoc call is made of.
func (f *workersLink) adHoc(call *parcel.AdHoc) error {
	folder, err := os.Getwd()
	f.recipe = &parcel.Recipe{AdHoc: call, Folder: folder}
	return err
}

// read are the files that were read for the plays.
func (f *workersLink) read() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.files)
}

// errFromHere is the error for an operation that workers do not support.
var errFromHere = errors.New("--workers: workers cannot do this; remove --workers, or pass --workers ''")

// recipeOf returns the recipe of plays.
func (f *workersLink) recipeOf(plays []*manifest.Play) (parcel.Recipe, error) {
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

// address returns the URL of --workers for hints, without a user and password.
func (f *workersLink) address() string {
	u, err := url.Parse(f.flags.Workers.URL)
	if err != nil || u.User == nil {
		return f.flags.Workers.URL
	}
	u.User = nil
	return u.String()
}

// keys returns the key of this machine and the list of workers.
func (f *workersLink) keys() (key keyring.Key, list *keyring.KeyFile, err error) {
	a := f.app
	if key, err = keyring.ReadKey(cmp.Or(f.flags.Workers.Key, a.Configuration(coordinatorKey))); err != nil {
		return key, nil, fmt.Errorf("--workers: the key by which workers know this machine: %w", err)
	}
	if list, err = keyring.OpenWorkerList(cmp.Or(f.flags.Workers.List, a.Configuration(workerList)), a.Say); err != nil {
		err = fmt.Errorf("--workers: the keys of workers: %w", err)
	}
	return key, list, err
}

// certify signs a certificate for the key of a worker.
func (f *workersLink) certify(ctx context.Context, by *usercert.Authority, run string, of workers.Certificate) ([]byte, time.Duration, error) {
	key, err := ssh.ParsePublicKey(of.SSHKey)
	if err != nil {
		return nil, 0, err
	}
	valid := f.flags.CertificateTime()
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
func (f *workersLink) config() natsconn.Config {
	given := f.flags.NATS.Config
	given.Servers, given.Context = f.flags.Workers.URL, ""
	return natsConfig(given, flags.WorkersFlag, f.app)
}

// connection returns the connection to the URL of --workers. It is dialled once.
func (f *workersLink) connection() *natsconn.Link {
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
		config.Outage = f.app.Warn // each time: runs that watch continue for weeks
		f.link = natsconn.New(config)
	}
	return f.link
}

// queue returns the queue between coordinators and workers.
func (f *workersLink) queue(ctx context.Context) (*queue.JetStream, error) {
	conn, err := f.connection().Conn(ctx)
	if err != nil {
		return nil, err
	}
	return queue.NewJetStream(conn, 0)
}
