package playbooks

import (
	"context"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
)

// A queue is the hosts that are to be worked on, so many at once. Each goroutine
// takes one host after the other: its stack has to grow to what a host needs only
// once.
type queue struct {
	work func(host string)
	stop func() bool // no further host shall be begun

	mu      sync.Mutex
	waiting []string
	running int // goroutines
	workers sync.WaitGroup
}

// each works on hosts in parallel and waits for all of them.
func (f *fleet) each(ctx context.Context, hosts []*inventory.Host, work func(*hostState)) {
	q := &queue{
		work:    func(host string) { work(f.states[host]) },
		stop:    func() bool { return f.interrupted(ctx) },
		waiting: names(hosts),
	}
	f.exchange.serves(q.hurry)
	q.run(f.forks())
	f.exchange.serves(nil)
}

// run begins so many hosts and, whenever one is done, the next.
func (q *queue) run(atOnce int) {
	q.mu.Lock()
	for range min(atOnce, len(q.waiting)) {
		q.running++
		q.workers.Go(func() {
			for host, ok := q.next(); ok; host, ok = q.next() {
				q.work(host)
			}
		})
	}
	q.mu.Unlock()
	q.workers.Wait()
}

// next gives a goroutine its next host, or says that it is done.
func (q *queue) next() (host string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 || q.stop() {
		q.running--
		return "", false
	}
	host, q.waiting = q.waiting[0], q.waiting[1:]
	return host, true
}

// hurry begins a host now, if it has not been begun: another one waits for it, whose
// place it takes. So nobody waits for a host that waits for a place.
func (q *queue) hurry(host string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, host)
	if i < 0 || q.running == 0 || q.stop() {
		return
	}
	q.waiting = slices.Delete(slices.Clone(q.waiting), i, i+1)
	q.running++
	q.workers.Go(func() {
		q.work(host)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.running--
	})
}
