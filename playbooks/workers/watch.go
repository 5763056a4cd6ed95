package workers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// A shard of hosts that are watched does not end, and what is ordered about them comes to its worker as answers: it asks for
// that all the time, so that one of which nothing is heard is known to be lost.

// An errand is what one host is to have mended.
type errand struct {
	Number int                  `json:"number"` // in the handout, from 1
	Host   string               `json:"host"`
	Order  playbooks.WatchOrder `json:"order"`
}

// errands are those of a handout that its worker may not have got.
type errands struct {
	mu      sync.Mutex
	given   int // so many
	list    []errand
	changed chan struct{} // closed, and made anew, when there is one more
	asked   time.Time     // when the worker has asked last
}

func newErrands() *errands { return &errands{changed: make(chan struct{}), asked: time.Now()} }

func (e *errands) give(host string, o playbooks.WatchOrder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.given++
	e.list = append(e.list, errand{e.given, host, o})
	close(e.changed)
	e.changed = make(chan struct{})
}

// behind gives those that are behind a number, which the worker has got, and what is closed when that changes.
func (e *errands) behind(number int) ([]errand, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = time.Now()
	e.list = slices.DeleteFunc(e.list, func(one errand) bool { return one.Number <= number })
	return slices.Clone(e.list), e.changed
}

// heard is when the worker has asked last.
func (e *errands) heard() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}

// silent is for how long the worker has not asked.
func (e *errands) silent() time.Duration { return time.Since(e.heard()) }

// watches reports whether hosts are watched in a turn.
func watches(t playbooks.Turn) bool { return t.Kind == playbooks.WatchTurn }

// watched are the turns of a shard whose hosts are watched, with the lock held.
func (s *shard) watched() (all []*turn) {
	for _, t := range s.turns {
		if watches(t.Turn) {
			all = append(all, t)
		}
	}
	return all
}

// watcher is the worker that watches a host; nil if none does.
func (c *Coordinator) watcher(host string) *handed {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.shards {
		if t := s.turns[host]; t != nil && watches(t.Turn) {
			return s.current
		}
	}
	return nil
}

// send gives a worker what a host is to have mended. Where none has the host, whoever ordered it hears that it is lost.
func (c *Coordinator) send(host string, o playbooks.WatchOrder) {
	if h := c.watcher(host); h != nil {
		h.errands.give(host, o)
	}
}

// hears reports whether something is heard of the worker that watches a host: when the run is stopped, it may be mending it.
func (c *Coordinator) hears(host string) bool {
	h := c.watcher(host)
	return h != nil && h.errands.silent() < killTime
}

// answerErrands answers a worker that asks what there is to do behind the errand of a number.
func (c *Coordinator) answerErrands(ctx context.Context, h *handed, number int) answered {
	timer := time.NewTimer(laterTime)
	defer timer.Stop()
	for {
		list, changed := h.errands.behind(number)
		switch {
		case !c.has(h):
			return answered{Over: true}
		case len(list) > 0:
			return answered{Errands: list}
		}
		select {
		case <-changed:
		case <-c.gone:
			return answered{Over: true}
		case <-timer.C:
			return answered{Later: true}
		case <-ctx.Done(): // the worker does not wait any more
			return answered{Later: true}
		}
	}
}

// unheardTime is after which time hosts are taken as watched by nobody: their worker has lost them well before that.
const unheardTime = queue.LeaseTime + 10*time.Second

// overlook waits until nothing is heard any more of a worker that watches hosts. Then they are lost until one
// takes them.
func (c *Coordinator) overlook(h *handed) {
	ticks := time.NewTicker(laterTime)
	defer ticks.Stop()
	for c.has(h) && h.errands.silent() < cmp.Or(c.unheard, unheardTime) {
		select {
		case <-ticks.C:
		case <-c.gone:
			return
		}
	}
	var turns []*turn
	for _, one := range c.ofWorker(h) {
		turns = append(turns, c.giveUp(one)...)
	}
	if len(turns) == 0 {
		return
	}
	if !c.Queue.Connected() { // which was told
		c.unwatched(turns, "nothing is heard of its worker, since NATS is out of reach", "it is watched again once NATS is there", h.errands.heard())
		return
	}
	c.Warn(fmt.Sprintf("nothing is heard of the worker %s any more, which watches %s", h.worker, counted(len(turns))))
	c.unwatched(turns, "its worker was lost", othersGoOn, h.errands.heard())
}

// ofWorker are the handouts of the same worker that it has, and are about to be taken for lost with this one.
func (c *Coordinator) ofWorker(h *handed) (all []*handed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.shards {
		if one := s.current; one != nil && bytes.Equal(one.sshKey, h.sshKey) && one.errands.silent() > h.errands.silent()-2*laterTime {
			all = append(all, one)
		}
	}
	return all
}

// othersGoOn is what becomes of hosts that a worker has left.
const othersGoOn = "the next free worker of its site continues"

// left takes in that a worker which watches hosts has ended before they have: others get them.
func (c *Coordinator) left(h *handed) {
	c.unwatched(c.giveUp(h), "its worker has ended", othersGoOn, time.Now())
}

// giveUp has nobody have the hosts that a worker watches, and gives their turns.
func (c *Coordinator) giveUp(h *handed) []*turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.shard.current != h || c.stopped {
		return nil
	}
	turns := h.shard.watched()
	if len(turns) > 0 {
		h.shard.current, h.shard.last, h.shard.lost, h.over = nil, h, true, time.Now()
	}
	return turns
}

// unwatched tells that nobody watches the hosts of turns any more, and when they were last heard of.
func (c *Coordinator) unwatched(turns []*turn, why, hint string, since time.Time) {
	for _, t := range turns {
		failed := c.failed(t.Turn, "lost", why, hint)
		_, err := t.handler.Answer(playbooks.Question{Watched: &playbooks.WatchNews{Lost: &playbooks.WatchLost{Failure: *failed.Failure, Since: since}}})
		c.warnOf(err)
	}
}

// errTaken is that the coordinator has given the hosts of a shard away.
var errTaken = errors.New("the hosts that this worker watches were given to others")

// orders are what hosts of a shift are to have mended: each of them has one at a time.
type orders struct {
	mu     sync.Mutex
	byHost map[string]chan playbooks.WatchOrder
}

func (o *orders) of(host string) chan playbooks.WatchOrder {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byHost == nil {
		o.byHost = map[string]chan playbooks.WatchOrder{}
	}
	if o.byHost[host] == nil {
		o.byHost[host] = make(chan playbooks.WatchOrder, 1)
	}
	return o.byHost[host]
}

// give has a host know an order. One that it has not got to is of before it was lost.
func (o *orders) give(host string, order playbooks.WatchOrder) {
	to := o.of(host)
	select {
	case <-to:
	default:
	}
	to <- order
}

// stayHeard reports that this worker is there, until the end of ctx.
func (s *shift) stayHeard(ctx context.Context) {
	for over := false; !over && ctx.Err() == nil; pause(ctx, minAsk) {
		a, err := s.askOnce(ctx, asked{Errands: new(int)})
		over = err == nil && a.Over
	}
}

// minAsk is the shortest time between two questions about errands. A coordinator delays its answer until there are errands, or for
// some seconds; one that does not cannot keep this worker busy.
const minAsk = 100 * time.Millisecond

// pause waits for a time, or until the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// runErrands repairs watched hosts as the coordinator orders, until the end of ctx. hosts are those of the shift.
func (s *shift) runErrands(ctx context.Context, hosts map[string]bool) {
	for got := 0; ; {
		a, err := s.askOnce(ctx, asked{Errands: &got})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.silent(err)
			return
		case a.Over:
			s.taken.Store(true)
			s.stop()
			return
		}
		if err := checkErrands(a.Errands, got, hosts); err != nil {
			s.breach(&breachError{err})
			return
		}
		for _, one := range a.Errands {
			s.orders.give(one.Host, one.Order)
			got = one.Number
		}
		if len(a.Errands) == 0 {
			pause(ctx, minAsk)
		}
	}
}
