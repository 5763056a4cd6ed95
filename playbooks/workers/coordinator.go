package workers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// A Coordinator runs one run on workers. It implements [playbooks.Workers].
type Coordinator struct {
	Queue   queue.Queue
	Key     keyring.Key  // identifies the coordinator to workers
	Workers keyring.Keys // keys that may get hosts
	Recipe  parcel.Recipe
	Runner  *playbooks.Runner // its events include what workers report
	// Certify certifies a worker's key of the run.
	Certify func(ctx context.Context, of Certificate) (text []byte, valid time.Duration, err error)
	Warn    func(text string)
	// Size limits the hosts of a shard; 0 derives the limit from the number of hosts.
	Size int
	// WaitWorkers is the time that a run waits for a worker of each of its sites before it begins. With 0 it begins
	// with the first host that accepts a worker, and waits for the others without a limit.
	WaitWorkers time.Duration
	// URL of NATS for hints, without a password.
	URL string
	// Share lets other machines continue the run, which has this name in the queue. The returned channel is closed when one of them
	// continues it. nil disables that.
	Share func(ctx context.Context, name string) (lost <-chan struct{}, err error)
	// List gets a line for each file that workers get, and for each file that they do not get; nil drops the lines.
	List func(string)

	run   *run // set by Begin
	times times
}

// times replaces durations for tests; 0 means the default.
type times struct {
	gather    time.Duration // see [gatherTime]
	silence   time.Duration // see [silenceTime]
	unwatched time.Duration // see [unwatchedTime]
}

const (
	// killTime limits the wait, after a kill, for workers to report how hosts have ended.
	killTime = 20 * time.Second
	// closeTime limits the deletion of the run.
	closeTime = 20 * time.Second
)

// Begin opens the run in the queue. The caller must call [Coordinator.Close] after it.
func (c *Coordinator) Begin(ctx context.Context) error {
	post, err := openPost(ctx, c.Queue, c.Key)
	if err != nil {
		return err
	}
	var lost <-chan struct{}
	if c.Share != nil {
		if lost, err = c.Share(ctx, post.name); err != nil {
			return errors.Join(err, post.delete(ctx))
		}
	}
	c.run = c.newRun(post, lost)
	return c.run.begin(context.WithoutCancel(ctx))
}

// newRun wires the parts of a run.
func (c *Coordinator) newRun(post *post, lost <-chan struct{}) *run {
	r := &run{warn: c.Warn, waitWorkers: c.WaitWorkers, lost: lost, halted: make(chan struct{})}
	closed, waste := make(chan struct{}), &waste{post: post}
	r.post, r.waste, r.ledger = post, waste, newLedger(c.Runner)
	r.authority = newAuthority(c.Certify, c.Warn, r.ledger.isWatching)
	r.routes = &routes{runner: c.Runner, authority: r.authority}
	r.admission = &admission{workers: c.Workers, routes: r.routes, warn: c.Warn}
	r.parcels = &parcels{
		post: post, runner: c.Runner, recipe: &c.Recipe, routes: r.routes, authority: r.authority, list: c.List, sent: map[string]*sealedRun{},
	}
	r.intake = &intake{
		post: post, ledger: r.ledger, routes: r.routes, warn: c.Warn, size: c.Size, wait: cmp.Or(c.times.gather, gatherTime), waiting: map[string]*gathering{},
	}
	r.transfers = &transfers{runner: c.Runner, ledger: r.ledger, intake: r.intake, warn: c.Warn}
	r.inbox = &inbox{
		runner: c.Runner, post: post, ledger: r.ledger, transfers: r.transfers, authority: r.authority, warn: c.Warn, lost: lost, closed: closed, more: make(chan struct{}),
	}
	r.errands = &errands{
		post: post, ledger: r.ledger, transfers: r.transfers, admission: r.admission, routes: r.routes, authority: r.authority, tasks: &r.tasks, halt: r.halt,
		warn: c.Warn, connected: c.Queue.Connected, closed: closed, silence: cmp.Or(c.times.unwatched, unwatchedTime),
	}
	r.dispatcher = &dispatcher{
		runner: c.Runner, post: post, ledger: r.ledger, transfers: r.transfers, admission: r.admission, routes: r.routes, parcels: r.parcels, inbox: r.inbox,
		errands: r.errands, waste: waste, tasks: &r.tasks, halt: r.halt, warn: c.Warn, asked: map[[sha256.Size]byte]*askedTicket{},
	}
	r.attendance = &attendance{
		queue: c.Queue, key: c.Key, workers: c.Workers, runner: c.Runner, ledger: r.ledger, routes: r.routes, warn: c.Warn, url: c.URL, closed: closed,
		silence: cmp.Or(c.times.silence, silenceTime), reached: time.Now(),
	}
	return r
}

// Answered reports whether a worker has received an answer: it has hosts, and sent a request after it got them.
func (c *Coordinator) Answered() (answered bool) {
	c.run.ledger.mu.Lock()
	defer c.run.ledger.mu.Unlock()
	for _, h := range c.run.ledger.assigned {
		answered = answered || h.errands.lastRequest().After(h.since)
	}
	return answered
}

// Halted is closed when a run that has begun must stop, because keys of workers are not certified any more.
func (c *Coordinator) Halted() <-chan struct{} { return c.run.halted }

// Close deletes everything of the run from the queue.
func (c *Coordinator) Close(ctx context.Context) error {
	err := c.run.post.delete(ctx)
	c.run.loops.Wait()
	c.run.tasks.close()
	return err
}

// Take implements [playbooks.Workers].
func (c *Coordinator) Take(ctx context.Context, stop <-chan struct{}, t playbooks.Turn, handler playbooks.TurnHandler) playbooks.TurnEnd {
	return c.run.take(ctx, stop, &turn{t, handler, make(chan playbooks.TurnEnd, 1)})
}

// Enter implements [playbooks.Workers]. The first host that lets a worker in is enough, so a site without workers does not delay other
// sites, unless the run begins only if all sites have workers ([Coordinator.WaitWorkers]).
func (c *Coordinator) Enter(ctx context.Context, stop <-chan struct{}, turns []playbooks.Turn) error {
	return c.run.enter(ctx, stop, turns)
}
