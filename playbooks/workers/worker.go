package workers

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"filippo.io/age"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/transport/start"
)

// A Worker works on hosts for coordinators.
type Worker struct {
	Queue        queue.Queue
	Key          keyring.Key  // key by which coordinators know the worker
	Coordinators keyring.Keys // keys that may begin runs
	Site         string       // site of the hosts that it accepts; "" means hosts without a site
	// Addresses from which the worker connects to hosts; its certificates are bound to them, or to none if it is empty.
	Addresses    []netip.Prefix
	Registry     modules.Registry
	Builds       []start.Build
	FullBuilds   []start.Build
	BuildID      string
	Version      string
	Forks, Files int          // see [playbooks.Options]
	Say          func(string) // receives messages for the log
	Trace        func(string) // takes a line when the worker takes hosts, and when they have ended; nil drops it
	Temp         string       // folder for the files of runs; "" means the folder of the system
	// Shards is the maximum number of shards in progress; 0 means 4. Shards whose hosts all wait for other hosts, or
	// soak, do not count.
	Shards int

	working sync.WaitGroup
	outages outages
	load    progress

	mu      sync.Mutex
	current *job                     // the latest run; nil before the first one
	shards  map[string]chan struct{} // shards in progress; the channel is closed when the shard ends
}

const defaultShards = 4

// A job is a run that the worker works for.
type job struct {
	name     string
	member   queue.Member
	identity *age.X25519Identity
	private  []byte // to log in with, as a file has it
	public   []byte
	folder   *folder // folder of this run
	users    int     // number of its shards in progress, guarded by the lock of the worker

	connections playbooks.Connections // connections of hosts that occur in a later shard

	stamp atomic.Pointer[[]byte] // the latest stamp of the coordinator; nil before the first one

	making  sync.Mutex       // guards the fields below, which are made once
	content *runContent      // nil until it is fetched
	plays   []*manifest.Play // nil until they are read
	hiera   *templates.Source
}

// askTime is the time limit for an answer of a coordinator, whose authority may prompt a person.
const askTime = 3 * time.Minute

// askAgain is the time after which a question is repeated. An answer is lost if the connection of either side was lost
// meanwhile.
const askAgain = 10 * time.Second

// Run processes shards until stop is closed; then resources in progress finish. The end of ctx kills them. Other
// workers take the remaining hosts.
func (w *Worker) Run(ctx context.Context, stop <-chan struct{}) error {
	defer w.leave()
	for range cmp.Or(w.Shards, defaultShards) {
		w.working.Go(func() { w.takeAll(ctx, stop, nil) })
	}
	announcing, over := context.WithCancel(context.WithoutCancel(ctx))
	var announced sync.WaitGroup
	announced.Go(func() { w.announce(announcing) })
	w.working.Wait()
	over()
	announced.Wait()
	return nil
}

// takeAll takes one shard after the other, until enough is closed.
func (w *Worker) takeAll(ctx context.Context, stop, enough <-chan struct{}) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	defer watching.Wait()
	ended := make(chan struct{})
	defer close(ended)
	watching.Go(func() {
		select {
		case <-stop:
			cancel()
		case <-enough:
			cancel()
		case <-ended:
		}
	})
	for {
		lease, err := w.Queue.Lease(waiting, w.Site)
		switch {
		case waiting.Err() != nil:
			if lease != nil {
				_ = lease.Return(ctx) // it comes again without that, later
			}
			return
		case err != nil:
			if w.outages.isNew(theQueue, err) {
				w.Say(err.Error())
			}
			select {
			case <-time.After(time.Second):
			case <-waiting.Done():
			}
			continue
		}
		if w.outages.end(theQueue) {
			w.Say("the queue answers again")
		}
		err = w.take(ctx, stop, lease)
		refused, is := errors.AsType[*refusedError](err)
		if !is && err != nil || is && w.outages.isNew(refused.outage(), refused) {
			w.Say(err.Error())
		}
		if !is {
			continue
		}
		if err := lease.Return(ctx); err != nil {
			w.Say(err.Error())
		}
		select {
		case <-time.After(refusedTime):
		case <-waiting.Done():
		}
	}
}

// refusedTime is the wait after a ticket that this worker may not process, so another worker gets the ticket.
const refusedTime = 5 * time.Second

// A refusedError is the reason why this worker does not accept a ticket, which others may.
type refusedError struct {
	text     string
	stranger bool // the ticket is signed by an unknown key
}

// outage returns the name of the outage under which the error is reported once. Accepted tickets of one coordinator do
// not end the outage of an unknown key.
func (e *refusedError) outage() string {
	if e.stranger {
		return strangers
	}
	return refusals
}

func (e *refusedError) Error() string { return e.text }

// beside processes one more shard while the hosts of another shard wait, so no host waits for a host that has no
// worker.
func (w *Worker) beside(ctx context.Context, stop, enough <-chan struct{}) {
	w.working.Go(func() { w.takeAll(ctx, stop, enough) })
}

// again tries something again while the queue does not answer, for as long as a lease lasts.
func again(ctx context.Context, try func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, queue.LeaseTime)
	defer cancel()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		once, end := context.WithTimeout(limited, 5*time.Second)
		err := try(once)
		end()
		if err == nil || errors.Is(err, queue.ErrGone) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-limited.Done():
			return err
		}
	}
}

// take processes the shard of a ticket. A ticket that is not processed is delivered again at the end of its lease, to
// any worker. On a [refusedError], the ticket must be returned.
func (w *Worker) take(ctx context.Context, stop <-chan struct{}, lease queue.Lease) error {
	var t ticket
	who, err := keyring.Verify(w.Coordinators.Ring(), ticketKind, lease.Ticket(), &t)
	if err != nil {
		return &refusedError{
			text:     fmt.Sprintf("a run was not accepted: %v%s", err, keyring.AdmitHint(err, w.Coordinators, "--coordinators", "begin runs")),
			stranger: keyring.IsStranger(err),
		}
	}
	if time.Now().After(t.Until) {
		return lease.Done(ctx)
	}
	held, end := hold(ctx, lease)
	defer end()
	leave, err := w.alone(held, t.Shard)
	if err != nil {
		return err
	}
	defer leave()
	j, err := w.job(held, t.Run)
	if err != nil {
		return err
	}
	defer w.release(j)
	a, err := w.ask(held, j, t)
	switch {
	case errors.Is(err, queue.ErrGone):
		w.outages.end(t.Run)
		return lease.Done(ctx)
	case err != nil && !w.outages.isNew(t.Run, err):
		return nil
	case err != nil:
		return fmt.Errorf("request to the controller %s: %w", who, err)
	}
	if w.outages.end(t.Run) {
		w.Say(fmt.Sprintf("the controller %s answers again", who))
	}
	switch {
	case a.Over:
		return lease.Done(ctx)
	case a.Refused != "":
		return &refusedError{text: fmt.Sprintf("%s refuses this worker: %s", who, a.Refused)}
	}
	w.outages.end(refusals)
	s := &shift{worker: w, job: j}
	whole, err := s.work(ctx, held, stop, a)
	if err != nil {
		return err
	}
	if !whole {
		return lease.Return(ctx)
	}
	return lease.Done(ctx)
}

// alone waits until nothing else of this worker is at a shard: its ticket comes again when a lease was lost.
func (w *Worker) alone(ctx context.Context, shard string) (leave func(), err error) {
	for {
		w.mu.Lock()
		other := w.shards[shard]
		if other == nil {
			if w.shards == nil {
				w.shards = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			w.shards[shard] = mine
			w.mu.Unlock()
			return func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				delete(w.shards, shard)
				close(mine)
			}, nil
		}
		w.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// job returns the run with this name, and counts one more user of it until [Worker.release]. The worker leaves its
// previous run.
func (w *Worker) job(ctx context.Context, name string) (*job, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current == nil || w.current.name != name {
		j, err := w.newJob(ctx, name)
		if err != nil {
			return nil, err
		}
		w.leaveLocked()
		w.current = j
	}
	w.current.users++
	return w.current, nil
}

// release ends a shard of the run.
func (w *Worker) release(j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if j.users--; j.users == 0 && j != w.current {
		w.remove(j)
	}
}

// leave forgets the run that was worked for last.
func (w *Worker) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leaveLocked()
}

func (w *Worker) leaveLocked() {
	if w.current != nil && w.current.users == 0 { // else who uses it last removes it
		w.remove(w.current)
	}
	w.current = nil
}

func (w *Worker) remove(j *job) {
	j.connections.Close()
	if err := j.folder.remove(); err != nil {
		w.Say(err.Error())
	}
}

// newJob makes the keys and the folder of a run.
func (w *Worker) newJob(ctx context.Context, name string) (*job, error) {
	member, err := w.Queue.Join(ctx, name)
	if errors.Is(err, queue.ErrGone) { // the run is gone, so its coordinator will not answer questions about the ticket
		member, err = gone{}, nil
	}
	if err != nil {
		return nil, err
	}
	j := &job{name: name, member: member}
	if j.identity, err = age.GenerateX25519Identity(); err != nil {
		return nil, err
	}
	private, public, err := NewWorkerKey("")
	if err != nil {
		return nil, err
	}
	j.public, j.private = public.Marshal(), private
	if j.folder, err = newFolder(w.Temp); err != nil {
		return nil, err
	}
	return j, nil
}

// gone is a run that is over.
type gone struct{}

func (gone) Ask(context.Context, []byte) ([]byte, error)     { return nil, queue.ErrGone }
func (gone) Get(context.Context, string) ([]byte, error)     { return nil, queue.ErrGone }
func (gone) Say(context.Context, []byte) error               { return queue.ErrGone }
func (gone) Orders(context.Context, func(data []byte)) error { return queue.ErrGone }

// ask requests the shard of a ticket. If the ticket has waited long, the coordinator first sends a new stamp.
func (w *Worker) ask(ctx context.Context, j *job, t ticket) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for range 2 {
		if a, err := w.askStamped(ctx, j, t); err != nil || !a.Stale {
			return a, err
		}
	}
	return nil, errors.New("it treats a new request as late")
}

func (w *Worker) askStamped(ctx context.Context, j *job, t ticket) (*answer, error) {
	q := question{
		Ticket: t, Nonce: rand.Text(), Recipient: j.identity.Recipient().String(), SSHKey: j.public, Build: w.BuildID, Version: w.Version,
		Prepared: j.prepared(), Addresses: w.Addresses,
	}
	if stamp := j.stamp.Load(); stamp != nil {
		q.Stamp = *stamp
	}
	text, err := keyring.Sign(w.Key, questionKind, q)
	if err != nil {
		return nil, err
	}
	said, err := askUntil(ctx, j.member, text)
	if err != nil {
		return nil, err
	}
	var a answer
	if _, err := keyring.Verify(w.Coordinators.Ring(), answerKind, said, &a); err != nil {
		return nil, err
	}
	// A question of a key that is on no list is not read, so its answer has no nonce.
	if a.Nonce != q.Nonce && (a.Refused == "" || a.Nonce != "") {
		return nil, errors.New("it has answered another question")
	}
	if a.Stamp != nil {
		j.stamp.Store(&a.Stamp)
	}
	return &a, nil
}

// askUntil repeats a question until the answer arrives.
func askUntil(ctx context.Context, member queue.Member, text []byte) ([]byte, error) {
	for {
		once, end := context.WithTimeout(ctx, askAgain)
		said, err := member.Ask(once, text)
		late := once.Err() != nil && ctx.Err() == nil
		end()
		if err == nil && len(said) > 0 || !late {
			return said, err
		}
	}
}

// fetch reads a sealed object of the run.
func (j *job) fetch(ctx context.Context, o *object, v message) error {
	if o == nil {
		return errors.New("the controller did not send a required part")
	}
	var data []byte
	if err := again(ctx, func(ctx context.Context) (err error) {
		data, err = j.member.Get(ctx, o.Name)
		return err
	}); err != nil {
		return err
	}
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:], o.SHA256) {
		return errors.New("the fetched data differs from the data that the controller sent")
	}
	text, err := sealing.Unseal(j.identity, data)
	if err != nil {
		return err
	}
	return receiveSent(text, v)
}

// receiveSent reads a message of a coordinator, and checks it. The error is a [breachError].
func receiveSent(text []byte, m message) error {
	if err := sealing.Receive(text, m); err != nil {
		return &breachError{err}
	}
	return nil
}

// write creates a file of the run that only this user can read, or replaces it atomically.
func (j *job) write(name string, data []byte) (string, error) {
	path := filepath.Join(j.folder.path, name)
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return path, err
	}
	return path, os.Rename(path+".new", path)
}
