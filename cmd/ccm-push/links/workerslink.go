package links

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

// A Workers reaches the workers of a call, through the queue.
type Workers struct {
	App   *app.App
	Flags *flags.All

	Recipe *parcel.Recipe // recipe of the manifests that were read; nil means none
	link   *natsconn.Link // to the queue; nil until it is needed
	Shared Sharing
	// ListFile gets a line for each file that workers get; nil drops the lines.
	ListFile func(string)
	// Answered reports whether workers receive the answers of this run; nil before the run.
	Answered atomic.Pointer[func() bool]

	mu    sync.Mutex
	files []string // files read for the plays
}

// The files that are looked for in the folder of the configuration.
const (
	CoordinatorKey   = "coordinator.key"
	WorkerKey        = "worker.key"
	WorkerList       = "workers.keys"
	CoordinatorsList = "coordinators.keys"
	operatorsList    = "operators.keys"
)

// Close ends the connection to the queue, if there is one.
func (f *Workers) Close(ctx context.Context) {
	f.Shared.Finish(ctx, f.App.Warn) // there is something if the run was refused
	f.Shared.giveBack(ctx, f.App.Warn)
	if f.link != nil {
		f.link.Close()
	}
}

// Note takes a file that was read for the plays.
func (f *Workers) Note(path string) {
	if f.Flags.Workers.URL == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = append(f.files, path)
}

// AdHoc notes what an ad-hoc call is made of.
func (f *Workers) AdHoc(call *parcel.AdHoc) error {
	folder, err := os.Getwd()
	f.Recipe = &parcel.Recipe{AdHoc: call, Folder: folder}
	return err
}

// read are the files that were read for the plays.
func (f *Workers) read() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.files)
}

// ErrFromHere is the error for an operation that workers do not support.
var ErrFromHere = errors.New("--workers: workers cannot do this; remove --workers, or pass --workers ''")

// RecipeOf returns the recipe of plays.
func (f *Workers) RecipeOf(plays []*manifest.Play) (parcel.Recipe, error) {
	switch {
	case slices.ContainsFunc(plays, func(p *manifest.Play) bool { return p.Undo != nil }):
		folder, err := os.Getwd()
		return parcel.Recipe{Undo: parcel.NewUndo(plays), Folder: folder}, err
	case f.Recipe == nil:
		return parcel.Recipe{}, ErrFromHere
	}
	recipe := *f.Recipe
	recipe.Files = f.read
	return recipe, nil
}

// Address returns the URL of --workers for hints, without a user and password.
func (f *Workers) Address() string {
	u, err := url.Parse(f.Flags.Workers.URL)
	if err != nil || u.User == nil {
		return f.Flags.Workers.URL
	}
	u.User = nil
	return u.String()
}

// Keys returns the key of this machine and the list of workers.
func (f *Workers) Keys() (key keyring.Key, list *keyring.KeyFile, err error) {
	a := f.App
	if key, err = keyring.ReadKey(cmp.Or(f.Flags.Workers.Key, a.Configuration(CoordinatorKey))); err != nil {
		return key, nil, fmt.Errorf("--workers: the key by which workers know this machine: %w", err)
	}
	if list, err = keyring.OpenWorkerList(cmp.Or(f.Flags.Workers.List, a.Configuration(WorkerList)), a.Say); err != nil {
		err = fmt.Errorf("--workers: the keys of workers: %w", err)
	}
	return key, list, err
}

// Certify signs a certificate for the key of a worker.
func (f *Workers) Certify(ctx context.Context, by *usercert.Authority, run string, of workers.Certificate) ([]byte, time.Duration, error) {
	key, err := ssh.ParsePublicKey(of.SSHKey)
	if err != nil {
		return nil, 0, err
	}
	valid := f.Flags.CertificateTime()
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

// Config returns how to log in at the URL of --workers. Only the URL differs from the flags of --nats: data may be in another NATS.
func (f *Workers) Config() natsconn.Config {
	given := f.Flags.NATS.Config
	given.Servers, given.Context = f.Flags.Workers.URL, ""
	return Config(given, flags.WorkersFlag, f.App)
}

// Connection returns the connection to the URL of --workers. It is dialled once.
func (f *Workers) Connection() *natsconn.Link {
	if f.link == nil {
		config := f.Config()
		warn := config.Warn
		config.Warn = func(text string) {
			// A server forgets which answers it allows when its users change. Workers without an answer send the question again.
			if answered := f.Answered.Load(); answered != nil && strings.Contains(text, `Publish to "_INBOX.`) && (*answered)() {
				return
			}
			warn(text)
		}
		config.Outage = f.App.Warn // each time: runs that watch continue for weeks
		f.link = natsconn.New(config)
	}
	return f.link
}

// Queue returns the queue between coordinators and workers.
func (f *Workers) Queue(ctx context.Context) (*queue.JetStream, error) {
	conn, err := f.Connection().Conn(ctx)
	if err != nil {
		return nil, err
	}
	return queue.NewJetStream(conn, 0)
}
