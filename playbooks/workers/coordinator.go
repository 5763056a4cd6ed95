package workers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// A Coordinator has workers work on the hosts of one run. It implements [playbooks.Workers].
type Coordinator struct {
	Queue   queue.Queue
	Key     Key  // identifies the coordinator to workers
	Workers Keys // keys that may get hosts
	Recipe  Recipe
	Runner  *playbooks.Runner // of the run; what happens is reported to its events
	// Certify certifies a worker's key of the run.
	Certify func(ctx context.Context, of Certificate) (text []byte, valid time.Duration, err error)
	Warn    func(text string)
	// Size limits the hosts of a shard; 0 derives the limit from the number of hosts.
	Size int
	// WaitWorkers is how long a run waits for a worker of each of its sites before it begins; 0 begins with the first host that lets a
	// worker in, and waits for the others without end.
	WaitWorkers time.Duration
	// URL of NATS for hints, without a password.
	URL string
	// Share has others able to go on with the run, of which the queue has a name; what it gives is closed
	// when somebody has. nil is that nobody can.
	Share func(ctx context.Context, name string) (lost <-chan struct{}, err error)

	// List gets a line for each file that workers get, and for each that they do not get; nil drops the lines.
	List func(string)

	run    queue.Run
	name   string // name of the run in the queue
	began  time.Time
	secret []byte          // of which stamps, and keys of handouts, are made
	lost   <-chan struct{} // closed when the run is gone on with elsewhere; nil never is

	stopping, killing sync.Once
	halting           sync.Once
	unlimited         sync.Once     // the warning about a line without a site
	halted            chan struct{} // closed when no more hosts can be handed out
	hearing           sync.WaitGroup
	answering         sync.WaitGroup
	gone              chan struct{} // closed when nothing is heard any more

	making sync.Mutex // one content of the run, or certificate, at a time
	whole  *runContent
	runs   map[string]*sealedRun // by the key that they are sealed to
	certs  map[string]certificate
	// outages remembers the reported outages of the authority.
	outages outages

	mu       sync.Mutex
	gathers  time.Duration         // how long hosts that begin together take to come together; 0 is gatherTime
	unheard  time.Duration         // how long a worker that watches hosts may be silent; 0 is unheardTime
	waiting  map[string]*gathering // by site
	shards   map[string]*shard     // that have not ended
	handed   map[handout]*handed
	told     map[toldOf]*told
	asked    map[[sha256.Size]byte]*askedTicket // by the question
	spent    []string                           // objects that are not needed any more
	stopped  bool
	watching bool             // the plays are over, and hosts are watched
	taking   atomic.Bool      // the run has begun: hosts have turns
	err      error            // why nothing is heard any more
	heardTo  uint64           // the number of what was heard last of what workers have said
	excluded map[string]error // workers that broke the protocol, by their keys
	// hearsMore is closed, and made anew, when that changes.
	hearsMore chan struct{}
	// silence is after which time a silent worker is reported as lost; 0 is silenceTime.
	silence time.Duration
	// entering are the hosts of each site while [Coordinator.Enter] has some of them tried; nil later.
	entering map[string][]string
	unserved map[string]string // reported sites without a worker; only [Coordinator.attend] uses it
	reach    sync.Mutex
	reached  time.Time // when NATS was last found out of reach, or the run began
	// unbound are hosts that have refused, before the run began, a certificate that is for their site alone; by site.
	unbound map[string]string
	// authority has signed the certificates of workers; uncertified is why it did not sign the first one.
	authority   ssh.PublicKey
	uncertified error
	unpacked    error // see [Coordinator.cannotBePacked]
}

// A turn is a host that is waited for.
type turn struct {
	playbooks.Turn
	handler playbooks.TurnHandler
	ended   chan playbooks.TurnEnd // gets one
}

// handed is a shard at one worker.
type handed struct {
	shard     *shard
	reader    *frameReader
	worker    string
	key       string          // key of the worker, on the list
	hosts     map[string]bool // that it was given
	sshKey    []byte          // SSH key of the worker, for this run
	recipient string          // likewise
	object    string          // the name of what it was given
	certified Certificate
	addresses []netip.Prefix         // the worker comes from; none is unknown
	lent      map[string]Certificate // likewise for hosts that are lent to it
	asks      questions
	errands   *errands
	since     time.Time // when the worker got the shard
	left      time.Time // when the worker gave back what remains of it; zero if it has not
	over      time.Time // when the worker has lost the shard, or that has ended; zero is not yet
}

const (
	// killTime limits the wait, after a kill, for workers to report how hosts have ended.
	killTime = 20 * time.Second
	// closeTime limits the deletion of the run.
	closeTime = 20 * time.Second
)

// Begin opens the run in the queue. The caller must call [Coordinator.Close] after it.
func (c *Coordinator) Begin(ctx context.Context) error {
	var name [16]byte
	_, _ = rand.Read(name[:]) // it never fails
	c.name, c.began, c.secret = hex.EncodeToString(name[:]), time.Now(), make([]byte, sha256.Size)
	_, _ = rand.Read(c.secret)
	c.waiting, c.shards, c.handed = map[string]*gathering{}, map[string]*shard{}, map[handout]*handed{}
	c.asked, c.hearsMore = map[[sha256.Size]byte]*askedTicket{}, make(chan struct{})
	c.runs, c.certs, c.told, c.gone, c.halted = map[string]*sealedRun{}, map[string]certificate{}, map[toldOf]*told{}, make(chan struct{}), make(chan struct{})
	run, err := c.Queue.Open(ctx, c.name)
	if err != nil {
		return err
	}
	c.run = run
	if c.Share != nil {
		if c.lost, err = c.Share(ctx, c.name); err != nil {
			return errors.Join(err, c.delete(ctx))
		}
	}
	if err := run.Answer(context.WithoutCancel(ctx), c.answer); err != nil {
		return errors.Join(err, c.delete(ctx))
	}
	// The coordinator listens to the end, also when hosts are killed.
	c.hearing.Go(func() { c.hear(context.WithoutCancel(ctx)) })
	c.hearing.Go(func() { c.maintain(context.WithoutCancel(ctx)) })
	c.reached = time.Now()
	c.hearing.Go(func() { c.attend(context.WithoutCancel(ctx)) })
	return nil
}

// Answered reports whether a worker has heard an answer: it has got hosts and asked for more.
func (c *Coordinator) Answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.handed {
		if h.errands.heard().After(h.since) {
			return true
		}
	}
	return false
}

// Halted is closed when the run has to stop, once it has begun: keys of workers are not certified any more.
func (c *Coordinator) Halted() <-chan struct{} { return c.halted }

// Close deletes what there is of the run.
func (c *Coordinator) Close(ctx context.Context) error {
	err := c.delete(ctx)
	c.hearing.Wait()
	c.answering.Wait()
	return err
}

func (c *Coordinator) delete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return c.run.Close(ctx)
}

// Take implements [playbooks.Workers].
func (c *Coordinator) Take(ctx context.Context, stop <-chan struct{}, t playbooks.Turn, handler playbooks.TurnHandler) playbooks.TurnEnd {
	c.taking.Store(true)
	one := &turn{t, handler, make(chan playbooks.TurnEnd, 1)}
	if watches(t) {
		c.mu.Lock()
		c.watching = true
		c.mu.Unlock()
	}
	c.gather(ctx, one)
	end := c.await(ctx, one, stop, nil)
	if end == nil && ctx.Err() == nil {
		c.stopping.Do(func() { c.stop(ctx) })
		for end == nil && ctx.Err() == nil {
			var late <-chan time.Time
			if watches(t) { // a watch loses nothing if its end is not reported
				late = time.After(killTime)
			}
			if end = c.await(ctx, one, nil, late); end == nil && ctx.Err() == nil && !c.hears(t.Host) {
				return playbooks.TurnEnd{Stopped: true}
			}
		}
	}
	if end == nil {
		c.killing.Do(func() {
			c.stopping.Do(func() { c.stop(ctx) })
			c.warnOf(c.order(ctx, order{Kill: true}))
		})
		end = c.await(context.WithoutCancel(ctx), one, nil, time.After(killTime))
	}
	if end == nil {
		return c.notHeard(t)
	}
	return *end
}

// await waits for the end of a turn. It is nil if something else ends the waiting: ctx, the first signal on stop, or that it is late.
func (c *Coordinator) await(ctx context.Context, t *turn, stop <-chan struct{}, late <-chan time.Time) *playbooks.TurnEnd {
	var end playbooks.TurnEnd
	for {
		select {
		case end = <-t.ended:
		case <-c.gone:
			end = c.notHeard(t.Turn)
		case <-c.lost:
			end = c.elsewhere(ctx)
		case o := <-t.Orders:
			c.send(t.Host, o)
			continue
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		case <-late:
			return nil
		}
		return &end
	}
}

// elsewhere is the end of a host of which others tell from now on: the run is gone on with elsewhere.
func (c *Coordinator) elsewhere(ctx context.Context) playbooks.TurnEnd {
	c.stopping.Do(func() { c.stop(ctx) })
	return playbooks.TurnEnd{Begun: true, Stopped: true}
}

// failed is the end of a host that failed as a whole.
func (c *Coordinator) failed(t playbooks.Turn, phase, why, hint string) playbooks.TurnEnd {
	e := events.HostFailed{Host: t.Host, Phase: phase, Error: why, Hint: hint}
	if len(c.Runner.Plays) > 0 { // else it is asked something
		e.Play = c.Runner.Plays[t.Play].Name
	}
	return playbooks.TurnEnd{Begun: true, Failure: &events.Carried{Event: e}}
}

// notHeard is the end of a host of which no worker has said how it ended.
func (c *Coordinator) notHeard(t playbooks.Turn) playbooks.TurnEnd {
	c.mu.Lock()
	defer c.mu.Unlock()
	why := "its worker did not report its result"
	if c.err != nil {
		why += ": " + c.err.Error()
	}
	return c.failed(t, "lost", why, "the next run reports what was done there")
}

// fail has all hosts of a shard fail that have not ended.
func (c *Coordinator) fail(s *shard, why string) { c.failAll(s, "start", why, "") }

// lose has them fail since their worker was lost, and what it did is known to nobody.
func (c *Coordinator) lose(s *shard) {
	c.failAll(s, "lost", "its worker was lost, and the command may have run", "check the host before you run it again")
}

func (c *Coordinator) failAll(s *shard, phase, why, hint string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endAll(s, func(t playbooks.Turn) playbooks.TurnEnd { return c.failed(t, phase, why, hint) })
}

// stopped is the end of a host that was not begun, or not ended.
func stopped(playbooks.Turn) playbooks.TurnEnd { return playbooks.TurnEnd{Stopped: true} }

// end ends a host of a shard, and the shard with the last of them. The lock is held.
func (c *Coordinator) end(s *shard, t *turn, how playbooks.TurnEnd) {
	t.ended <- how
	delete(s.turns, t.Host)
	delete(c.told, toldOf{t.Host, t.Play, t.Kind})
	if len(s.turns) > 0 {
		return
	}
	delete(c.shards, s.id)
	if s.current != nil {
		s.current.over = time.Now()
	}
}

// endAll ends all hosts of a shard that have not ended. The lock is held.
func (c *Coordinator) endAll(s *shard, how func(playbooks.Turn) playbooks.TurnEnd) {
	for _, t := range s.turns {
		c.end(s, t, how(t.Turn))
	}
}

func (c *Coordinator) warnOf(err error) {
	if err != nil {
		c.Warn(err.Error())
	}
}
