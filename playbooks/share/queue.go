package share

import (
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/playbooks/flight"
)

// A Queue has the hosts to process. Each goroutine takes one host after the other, so that its stack has to grow to a
// host's needs only once.
//
// Two numbers are bounded: the hosts in progress, and the hosts that are connecting.
type Queue struct {
	work func(host string, in *WayIn)
	stop func() bool

	mu            sync.Mutex
	waiting       []string
	returning     []*WayIn // hosts that wait for a place again
	logins, hosts int      // at most
	load          flight.Load
	workers       sync.WaitGroup
}

// NewQueue returns a queue of hosts, in the order in which they begin. Each is processed once. When stop returns true,
// no more hosts begin.
func NewQueue(hosts []string, work func(host string, in *WayIn), stop func() bool) *Queue {
	return &Queue{work: work, stop: stop, waiting: hosts}
}

// Run begins one host for each place, and further hosts as places become free. It waits for all hosts, also for hosts
// that [Queue.StartNow] began.
func (q *Queue) Run(logins, hosts int) {
	q.Resize(logins, hosts)
	q.workers.Wait()
}

// Resize sets how many hosts may connect, and be processed, at once: at least one each. Hosts that have begun are not
// affected.
func (q *Queue) Resize(logins, hosts int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.logins, q.hosts = max(1, logins), max(1, hosts)
	q.fill()
}

// Load returns the events of hosts since the last call.
func (q *Queue) Load() flight.Load {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.load
	l.Waiting = len(q.waiting)
	q.load.In, q.load.Took = 0, 0
	return l
}

// fill assigns free places to hosts, first to hosts that had one before; the lock must be held.
func (q *Queue) fill() {
	for host, ok := q.next(); ok; host, ok = q.next() {
		q.start(host)
	}
}

// next takes the next host, if there is a place that no returning host needs; the lock must be held. When no more hosts
// begin, hosts that have begun wait for no place: they finish.
func (q *Queue) next() (host string, ok bool) {
	for len(q.returning) > 0 && (q.load.LoggingIn < q.logins || q.stop()) {
		q.returning[0].returned()
		q.returning = q.returning[1:]
	}
	if q.load.Working >= q.hosts || q.load.LoggingIn >= q.logins || len(q.waiting) == 0 || q.stop() {
		return "", false
	}
	host, q.waiting = q.waiting[0], q.waiting[1:]
	q.load.Working++
	q.load.LoggingIn++
	return host, true
}

// start starts a goroutine that processes a taken host, and others after it; the lock must be held.
func (q *Queue) start(host string) {
	q.workers.Go(func() {
		for ok := true; ok; {
			w := q.wayIn()
			q.work(host, w)
			host, ok = q.after(w)
		}
	})
}

// after ends a host, and returns the next one for its goroutine.
func (q *Queue) after(w *WayIn) (host string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.giveBack()
	q.load.Working--
	return q.next()
}

// First has hosts that have not begun be the next ones, in their order.
func (q *Queue) First(hosts []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	isWaiting := make(map[string]bool, len(q.waiting))
	for _, host := range q.waiting {
		isWaiting[host] = true
	}
	var list []string
	for _, host := range hosts {
		if isWaiting[host] {
			list = append(list, host)
			isWaiting[host] = false
		}
	}
	for _, host := range q.waiting {
		if isWaiting[host] {
			list = append(list, host)
		}
	}
	q.waiting = list
}

// StartNext begins the next host now, in the place of one that waits for others.
func (q *Queue) StartNext() {
	q.mu.Lock()
	next := ""
	if len(q.waiting) > 0 {
		next = q.waiting[0]
	}
	q.mu.Unlock()
	q.StartNow(next)
}

// StartNow begins a host now, if it has not been begun: another one waits for it, whose
// place it takes. So no host waits for one that waits for a place.
func (q *Queue) StartNow(host string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, host)
	if i < 0 || q.load.Working == 0 || q.stop() {
		return
	}
	q.waiting = slices.Delete(slices.Clone(q.waiting), i, i+1)
	q.load.Working++
	q.load.LoggingIn++
	q.start(host)
}
