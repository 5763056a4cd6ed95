package share

import (
	"slices"
	"sync"
)

// A Queue is the hosts that are to be worked on. Each goroutine takes one host after
// the other: its stack has to grow to what a host needs only once.
type Queue struct {
	work func(host string)
	stop func() bool

	mu      sync.Mutex
	waiting []string
	running int // goroutines
	workers sync.WaitGroup
}

// NewQueue is a queue of hosts, in the order in which they begin. Each is worked on once,
// but none begins any more when stop reports true.
func NewQueue(hosts []string, work func(host string), stop func() bool) *Queue {
	return &Queue{work: work, stop: stop, waiting: hosts}
}

// Run begins so many hosts and, whenever one is done, the next. It waits for all of
// them, also for those that are begun by [Queue.StartNow].
func (q *Queue) Run(atOnce int) {
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
func (q *Queue) next() (host string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 || q.stop() {
		q.running--
		return "", false
	}
	host, q.waiting = q.waiting[0], q.waiting[1:]
	return host, true
}

// StartNow begins a host now, if it has not been begun: another one waits for it, whose
// place it takes. So no host waits for one that waits for a place.
func (q *Queue) StartNow(host string) {
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
