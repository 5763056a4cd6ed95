package workers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
)

// A run is a run that a coordinator has begun, with its parts. Each part has its own fields and locks.
type run struct {
	warn        func(string)
	waitWorkers time.Duration

	post       *post
	ledger     *ledger
	routes     *routes
	authority  *authority
	admission  *admission
	parcels    *parcels
	intake     *intake
	transfers  *transfers
	inbox      *inbox
	errands    *errands
	dispatcher *dispatcher
	attendance *attendance
	waste      *waste

	lost   <-chan struct{} // closed when another machine continues the run; nil means never
	halted chan struct{}   // closed when no further hosts can get a worker

	halting, stopping, killing sync.Once

	loops sync.WaitGroup // goroutines that end when the run is closed
	tasks tasks
}

// begin starts to answer workers and to read their messages. It continues until the run is closed, also if hosts are killed.
func (r *run) begin(ctx context.Context) error {
	if err := r.post.run.Answer(ctx, r.answer); err != nil {
		return errors.Join(err, r.post.delete(ctx))
	}
	r.loops.Go(func() { r.inbox.readAll(ctx) })
	r.loops.Go(func() { r.maintain(ctx) })
	r.loops.Go(func() { r.attendance.watch(ctx) })
	return nil
}

// answer answers a message of a worker: a request of a worker that has hosts, or a question about a ticket.
func (r *run) answer(ctx context.Context, text []byte) []byte {
	if len(text) > 0 && text[0] == asks {
		return r.errands.answer(ctx, text)
	}
	return r.dispatcher.answer(ctx, text)
}

// take waits until a worker has run a host.
func (r *run) take(ctx context.Context, stop <-chan struct{}, t *turn) playbooks.TurnEnd {
	r.attendance.begun.Store(true)
	watched := playbooks.Requests[playbooks.WatchRequest](t.Turn)
	if watched {
		r.ledger.watch()
	}
	r.intake.gather(ctx, t)
	end := r.await(ctx, t, stop, nil)
	if end == nil && ctx.Err() == nil {
		r.stop(ctx)
		for end == nil && ctx.Err() == nil {
			var late <-chan time.Time
			if watched { // a watch loses nothing if its end is not reported
				late = time.After(killTime)
			}
			if end = r.await(ctx, t, nil, late); end == nil && ctx.Err() == nil && !r.errands.isPresent(t.Host) {
				return notBegun(t.Turn)
			}
		}
	}
	if end == nil {
		r.kill(ctx)
		end = r.await(context.WithoutCancel(ctx), t, nil, time.After(killTime))
	}
	if end == nil {
		return r.noResult(t.Turn)
	}
	return *end
}

// await waits for the end of a turn. It returns nil after ctx, the first signal on stop, or late.
func (r *run) await(ctx context.Context, t *turn, stop <-chan struct{}, late <-chan time.Time) *playbooks.TurnEnd {
	var end playbooks.TurnEnd
	watched, _ := t.Request.(playbooks.WatchRequest)
	for {
		select {
		case end = <-t.ended:
		case <-r.inbox.closed:
			end = r.noResult(t.Turn)
		case <-r.lost: // another machine reports the host
			r.stop(ctx)
			end = playbooks.TurnEnd{Begun: true, Stopped: true}
		case o := <-watched.Orders:
			r.errands.send(t.Host, o)
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

// noResult returns the end of a host whose result no worker has reported.
func (r *run) noResult(t playbooks.Turn) playbooks.TurnEnd {
	why := "its worker did not report its result"
	if err := r.inbox.failure(); err != nil {
		why += ": " + err.Error()
	}
	return r.ledger.failure(t, "lost", why, "the next run reports the changes that the lost run made")
}

// halt stops the run before the certificates of its workers expire.
func (r *run) halt(why error) {
	r.halting.Do(func() {
		r.warn(fmt.Sprintf("%v: no more hosts are started; when the authority answers again, continue the run with ccm-push resume", why))
		close(r.halted)
	})
}

// kill orders all workers to end their running resources, once.
func (r *run) kill(ctx context.Context) {
	r.killing.Do(func() {
		r.stop(ctx)
		warnOf(r.warn, r.post.order(ctx, order{Kill: true}))
	})
}

// stop withdraws the hosts that no worker has, and orders workers to stop after the running resources, once.
func (r *run) stop(ctx context.Context) {
	r.stopping.Do(func() {
		r.ledger.stop()
		warnOf(r.warn, r.post.withdraw(ctx))
		warnOf(r.warn, r.post.order(ctx, order{Stop: true}))
		r.tasks.start(func() { r.awaitStopped(context.WithoutCancel(ctx)) })
	})
}

// awaitStopped waits after a stop until all hosts have ended, except watched hosts. A worker that got the order sends requests all the
// time; the hosts of a worker that sends none fail as lost.
func (r *run) awaitStopped(ctx context.Context) {
	ticks := time.NewTicker(laterTime)
	defer ticks.Stop()
	for {
		working := r.working()
		if len(working) == 0 {
			return
		}
		for _, h := range working {
			if r.attendance.silenceOf(h) < r.errands.silence {
				continue
			}
			left := r.ledger.conclude(h.shard, func(t playbooks.Turn) playbooks.TurnEnd { return r.unknown(h, t) })
			r.warn(fmt.Sprintf("worker %s was lost, last heard at %s: not waiting for %s", h.worker, h.errands.lastRequest().Local().Format(time.TimeOnly), counted(left)))
		}
		select {
		case <-ticks.C:
		case <-r.inbox.closed:
			return
		}
		_ = r.post.order(ctx, order{Stop: true}) // a worker that was out of reach did not get it
	}
}

// working returns the workers that have hosts which they do not only watch.
func (r *run) working() (all []*assignment) {
	r.ledger.each(func(s *shard) {
		if s.current != nil && len(s.watched()) == 0 {
			all = append(all, s.current)
		}
	})
	return all
}

// unknown returns the end of a host whose worker was lost, or has not reported the end: the outcome is unknown.
func (r *run) unknown(h *assignment, t playbooks.Turn) playbooks.TurnEnd {
	end := r.ledger.failure(t, "lost", fmt.Sprintf("worker %s was lost, so the outcome on this host is unknown", h.worker), "the next run reports the changes that the lost run made")
	end.Took = max(0, h.errands.lastRequest().Sub(h.since))
	return end
}

// warnOf warns of an error, and ignores nil.
func warnOf(warn func(string), err error) {
	if err != nil {
		warn(err.Error())
	}
}

// tasks are the goroutines that answer workers. A worker can ask while the run is closed, and a [sync.WaitGroup] must not be waited for
// while its first goroutine starts: close refuses further ones.
type tasks struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// start runs a function in a goroutine, and reports whether it did. After close it does not.
func (t *tasks) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.running.Go(f)
	return true
}

// close waits until all goroutines have ended, and starts no further ones.
func (t *tasks) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
}
