package workers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// errands answers requests of workers that have hosts: questions of these hosts, renewed certificates, and orders to repair watched
// hosts. A worker requests orders all the time, so a worker that sends no requests is lost.
type errands struct {
	post      *post
	ledger    *ledger
	transfers *transfers
	admission *admission
	routes    *routes
	authority *authority
	tasks     *tasks
	halt      func(error)
	warn      func(string)
	connected func() bool     // reports whether NATS is reached
	closed    <-chan struct{} // closed at the end of the run
	silence   time.Duration   // after that time without a request, the watched hosts of a worker go to another worker
}

// unwatchedTime is the default of errands.silence: the lease of a lost worker ends well before that.
const unwatchedTime = queue.LeaseTime + 10*time.Second

// answer answers a request. A request that no worker of this run can have sent gets no answer.
func (e *errands) answer(ctx context.Context, data []byte) []byte {
	var id sealing.HandoutID
	if len(data) < 1+sealing.HandoutSize {
		return nil
	}
	copy(id[:], data[1:])
	sealer, err := sealing.NewSealer(e.post.keyOf(id), id)
	if err != nil {
		e.warn(err.Error())
		return nil
	}
	h := e.ledger.find(id)
	text, err := sealer.Open(sealing.ToCoordinator, data[1+sealing.HandoutSize:])
	if err != nil {
		if h != nil {
			e.warn(fmt.Sprintf("a request of the worker %s was changed in transit", h.worker))
		}
		return nil
	}
	var q asked
	a := answered{Over: true} // the assignment is over, and forgotten
	if wrong := sealing.Receive(text, &q); wrong != nil && h != nil {
		e.transfers.exclude(ctx, h, wrong)
	} else if wrong == nil && h != nil && e.transfers.violation(h.key) == nil {
		a = e.await(ctx, h, q)
	}
	if text, err = sealer.Seal(sealing.ToWorker, a); err != nil {
		e.warn(err.Error())
		return nil
	}
	return text
}

// await waits some seconds for the answer to a request.
func (e *errands) await(ctx context.Context, h *assignment, q asked) answered {
	e.ledger.mu.Lock()
	t := h.shard.turns[q.Host]
	lost := h.shard.current != h || len(h.shard.turns) == 0 // then the worker needs no certificate either
	e.ledger.mu.Unlock()
	switch {
	case q.Errands != nil:
		return e.awaitOrders(ctx, h, *q.Errands)
	case t == nil && !q.Renew || lost:
		return answered{Over: true}
	}
	p, err := h.asks.take(q)
	if err != nil {
		e.transfers.exclude(ctx, h, err)
		return answered{Over: true}
	}
	if p == nil || q.More {
		return answered{}
	}
	if h.asks.begin(p) {
		begun := e.tasks.start(func() {
			defer close(p.done)
			if q.Renew {
				p.answer = e.renew(context.WithoutCancel(ctx), h, q.Lent)
				return
			}
			p.answer = e.packed(context.WithoutCancel(ctx), h, e.answerHost(context.WithoutCancel(ctx), h, t, p.text))
			p.text = nil // pieces of files are large
		})
		if !begun {
			return answered{Over: true}
		}
	}
	timer := time.NewTimer(laterTime)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.answer
	case <-e.closed:
		return answered{Over: true}
	case <-timer.C:
		return answered{Later: true}
	}
}

// packed returns an answer as it is sent: a long answer is stored in the queue.
func (e *errands) packed(ctx context.Context, h *assignment, a playbooks.Answer) answered {
	text, err := json.Marshal(a)
	if err == nil && len(text) > maxAsked {
		var o *object
		if o, err = e.post.upload(ctx, h.asks.sealer.SealText(sealing.ToWorker, text)); err == nil {
			return answered{Object: o}
		}
	}
	if err != nil {
		e.warn(err.Error())
		a = playbooks.Answer{Error: err.Error()}
	}
	return answered{Answer: a}
}

// answerHost answers a question of a host. It may wait for other hosts.
func (e *errands) answerHost(ctx context.Context, h *assignment, t *turn, text []byte) playbooks.Answer {
	q, err := playbooks.DecodeQuestion(text)
	switch one := q.(type) {
	case playbooks.Return: // the next borrower can be in the same assignment
		e.ledger.mu.Lock()
		delete(h.lent, one.On)
		e.ledger.mu.Unlock()
	case playbooks.Watched:
		if lost := one.Lost; lost != nil && lost.Refused {
			lost.Failure = *e.authority.refused(&lost.Failure)
		}
	case playbooks.Borrow:
		one.Lend = func(host string) (*playbooks.Lent, error) { return e.lend(ctx, h, host) }
		q = one
	}
	var a playbooks.Answer
	if err == nil {
		a, err = t.handler.Answer(q)
	}
	if err != nil {
		e.transfers.exclude(ctx, h, err)
		return playbooks.Answer{Over: true}
	}
	return a
}

// lend sends a worker the route to a host that one of its own hosts uses (on).
func (e *errands) lend(ctx context.Context, h *assignment, name string) (*playbooks.Lent, error) {
	if _, err := e.routes.reachable(name); err != nil {
		return nil, err
	}
	if _, err := e.admission.permits(h.key, name); err != nil {
		return nil, fmt.Errorf("the worker %s gets no certificate for %s: %w", h.worker, name, err)
	}
	w, err := e.routes.to(ctx, Certificate{SSHKey: h.sshKey, Sources: h.addresses}, []*inventory.Host{e.routes.runner.Inventory.Host(name)})
	if err != nil {
		return nil, err
	}
	e.ledger.mu.Lock()
	h.lent[name] = w.certified
	e.ledger.mu.Unlock()
	return &playbooks.Lent{
		Inventory: w.inventory, Target: w.targets[name], KnownHosts: w.knownHosts, Certificate: w.certificate.text, Renew: time.Until(w.certificate.renew),
	}, nil
}

// renew returns the current certificate for a worker's hosts, or for a lent host. If the authority does not sign, the
// run stops, unless hosts are only watched.
func (e *errands) renew(ctx context.Context, h *assignment, lent string) answered {
	certified := h.certified
	if lent != "" {
		e.ledger.mu.Lock()
		its, still := h.lent[lent]
		e.ledger.mu.Unlock()
		if !still {
			return answered{}
		}
		certified = its
	}
	certified, err := e.admission.renewable(h, certified, lent)
	switch {
	case err != nil && lent != "":
		return answered{}
	case err != nil:
		e.transfers.move(ctx, h, func(one *assignment) bool { return one == h }, "its line in the list of workers has changed")
		return answered{Over: true}
	}
	made, err := e.authority.certificate(ctx, certified)
	if err != nil && e.ledger.isWatching() {
		return answered{Renew: cmp.Or(made.valid/16, time.Minute)}
	}
	if err != nil {
		e.halt(err)
		return answered{Over: true}
	}
	return answered{Certificate: made.text, Renew: time.Until(made.renew)}
}

// awaitOrders waits some seconds for orders after the order with a number.
func (e *errands) awaitOrders(ctx context.Context, h *assignment, number int) answered {
	timer := time.NewTimer(laterTime)
	defer timer.Stop()
	for {
		list, changed := h.errands.after(number)
		switch {
		case !e.ledger.owns(h):
			return answered{Over: true}
		case len(list) > 0:
			return answered{Errands: list}
		}
		select {
		case <-changed:
		case <-e.closed:
			return answered{Over: true}
		case <-timer.C:
			return answered{Later: true}
		case <-ctx.Done(): // the worker does not wait any more
			return answered{Later: true}
		}
	}
}

// watcherOf returns the worker that watches a host; nil means none.
func (e *errands) watcherOf(host string) (watcher *assignment) {
	e.ledger.each(func(s *shard) {
		if t := s.turns[host]; t != nil && playbooks.Requests[playbooks.WatchRequest](t.Turn) {
			watcher = s.current
		}
	})
	return watcher
}

// send sends an order for a watched host. If no worker has the host, its loss was reported.
func (e *errands) send(host string, o playbooks.WatchOrder) {
	if h := e.watcherOf(host); h != nil {
		h.errands.add(host, o)
	}
}

// isPresent reports whether the worker that watches a host sends requests: it may be repairing the host.
func (e *errands) isPresent(host string) bool {
	h := e.watcherOf(host)
	return h != nil && h.errands.silence() < killTime
}

// awaitSilence waits until a worker that watches hosts sends no more requests. Then its hosts are lost until another worker takes them.
func (e *errands) awaitSilence(h *assignment) {
	ticks := time.NewTicker(laterTime)
	defer ticks.Stop()
	for e.ledger.owns(h) && h.errands.silence() < e.silence {
		select {
		case <-ticks.C:
		case <-e.closed:
			return
		}
	}
	var turns []*turn
	for _, one := range e.ofSameWorker(h) {
		turns = append(turns, e.ledger.release(one)...)
	}
	if len(turns) == 0 {
		return
	}
	if !e.connected() { // the run has warned
		e.transfers.reportUnwatched(turns, "nothing is heard of its worker, since NATS is out of reach", "it is watched again once NATS is there", h.errands.lastRequest())
		return
	}
	e.warn(fmt.Sprintf("nothing is heard of the worker %s any more, which watches %s", h.worker, counted(len(turns))))
	e.transfers.reportUnwatched(turns, "its worker was lost", othersContinue, h.errands.lastRequest())
}

// ofSameWorker returns the assignments of the same worker that are about to be lost with this one.
func (e *errands) ofSameWorker(h *assignment) (all []*assignment) {
	e.ledger.each(func(s *shard) {
		if one := s.current; one != nil && bytes.Equal(one.sshKey, h.sshKey) && one.errands.silence() > h.errands.silence()-2*laterTime {
			all = append(all, one)
		}
	})
	return all
}
