package workers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// An inbox reads the messages of workers: events, ends of hosts, and warnings.
type inbox struct {
	runner    *playbooks.Runner
	post      *post
	ledger    *ledger
	transfers *transfers
	authority *authority
	warn      func(string)
	lost      <-chan struct{} // closed when another machine continues the run; nil means never
	closed    chan struct{}   // closed when no more messages are read

	mu   sync.Mutex
	err  error  // why no more messages are read
	last uint64 // number of the last message that was read
	// more is closed, and replaced, when last changes.
	more chan struct{}
}

// readAll reads messages until the run is closed.
func (b *inbox) readAll(ctx context.Context) {
	defer close(b.closed)
	for {
		frame, number, err := b.post.run.Said(ctx)
		if err != nil {
			b.mu.Lock()
			b.err = err
			b.mu.Unlock()
			return
		}
		warnOf(b.warn, b.take(ctx, frame))
		b.mu.Lock()
		b.last = number
		close(b.more)
		b.more = make(chan struct{})
		b.mu.Unlock()
	}
}

// failure returns why no more messages are read; nil if they are.
func (b *inbox) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// catchUp waits until all messages are read that workers have sent before: questions take another way, and can overtake them.
func (b *inbox) catchUp(ctx context.Context) error {
	sent, err := b.post.run.LastSaid(ctx)
	if err != nil {
		return err
	}
	for {
		b.mu.Lock()
		last, more := b.last, b.more
		b.mu.Unlock()
		if last >= sent {
			return nil
		}
		select {
		case <-more:
		case <-b.closed:
			return queue.ErrGone
		}
	}
}

// take processes a frame. It ignores frames of unknown assignments and of excluded workers.
func (b *inbox) take(ctx context.Context, frame []byte) error {
	if b.lost != nil && closed(b.lost) { // another machine reports them
		return nil
	}
	id, ok := sealing.HandoutOf(frame)
	h := b.ledger.find(id)
	if !ok || h == nil || b.transfers.violation(h.key) != nil {
		return nil
	}
	text, err := h.reader.Read(frame)
	if err != nil || text == nil {
		return err
	}
	var s said
	err = sealing.Receive(text, &s)
	if err == nil {
		err = b.audit(h, &s)
	}
	if err != nil {
		b.transfers.exclude(ctx, h, err)
		return nil
	}
	for _, w := range s.Warnings {
		b.warn(printable.Block(w))
	}
	if all := b.withoutReported(b.unreported(h, s.Events)); len(all) > 0 {
		b.register(ctx, h, all)
		b.runner.Events.Report(all...)
	}
	if s.Failed != "" && b.ledger.owns(h) {
		b.ledger.fail(h.shard, fmt.Sprintf("the worker %s: %s", h.worker, s.Failed))
	}
	b.settle(h, s)
	if s.Over {
		b.ledger.mu.Lock()
		h.returned = time.Now()
		b.ledger.mu.Unlock()
		b.transfers.workerEnded(h)
	}
	return nil
}

// audit checks what a worker reports against its hosts and their plays, and fills in what the coordinator has compiled.
func (b *inbox) audit(h *assignment, s *said) error {
	for i := range s.Events {
		e := s.Events[i].Event
		t, err := b.ledger.turnOf(h, events.HostOf(e))
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		if s.Events[i].Event, err = t.handler.Check(e); err != nil {
			return err
		}
	}
	for host, end := range s.Ends {
		t, err := b.ledger.turnOf(h, host)
		if err != nil {
			return err
		}
		if t != nil {
			if err := t.handler.CheckEnd(end); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutReported omits results of earlier runs that are already known here: workers do not know these runs.
func (b *inbox) withoutReported(list []events.Event) (all []events.Event) {
	for _, e := range list {
		unknown := true
		if u, is := e.(events.Untold); is {
			e, unknown = b.runner.Untold(u)
		}
		if unknown {
			all = append(all, e)
		}
	}
	return all
}

// unreported returns the events that were not reported before.
func (b *inbox) unreported(h *assignment, list []events.Carried) (all []events.Event) {
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	for _, one := range list {
		t := h.shard.turns[events.HostOf(one.Event)]
		if t == nil { // all of it was reported before it ended
			continue
		}
		switch e := one.Event.(type) {
		case events.Untold:
			if e.Earlier == b.runner.Options.Run {
				continue
			}
		case events.Result, events.Message:
			// The worker has lost the host. The next worker reports this, because the host has stored it.
			if h.shard.current != h {
				continue
			}
		}
		if playbooks.Requests[playbooks.WatchRequest](t.Turn) { // each repair is reported
			all = append(all, one.Event)
			continue
		}
		if !b.ledger.history(t.Turn).isNew(one.Event) {
			continue
		}
		if r, ok := one.Event.(events.Result); ok && b.runner.Options.Progress.Retold(t.Play, r) { // the resumed run has reported it
			continue
		}
		all = append(all, one.Event)
	}
	return all
}

// register registers what resources request, and adds where their files are: workers can do neither.
func (b *inbox) register(ctx context.Context, h *assignment, list []events.Event) {
	for i, e := range list {
		r, ok := e.(events.Result)
		if !ok {
			continue
		}
		r = b.runner.Kept(r)
		list[i] = r
		if len(r.Registers) == 0 {
			continue
		}
		failed := b.runner.Register(ctx, &r)
		list[i] = r
		b.ledger.mu.Lock()
		if t := h.shard.turns[r.Host]; t != nil && failed {
			b.ledger.history(t.Turn).failed = true
		}
		b.ledger.mu.Unlock()
	}
}

// settle ends the hosts that a worker reports as ended. A worker that has lost its hosts does not know how they end.
func (b *inbox) settle(h *assignment, s said) {
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	if h.shard.current != h {
		return
	}
	for host, end := range s.Ends {
		t := h.shard.turns[host]
		if t == nil {
			continue
		}
		if b.ledger.history(t.Turn).failed {
			end.Failed = true
		}
		if end.Refused && end.Failure != nil {
			end.Failure = b.authority.refused(end.Failure)
		}
		b.ledger.settle(h.shard, t, end)
	}
	if s.Over && b.ledger.stopped { // the other hosts have not begun
		b.ledger.finish(h.shard, notBegun)
	}
}
