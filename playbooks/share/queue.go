package share

import (
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/playbooks/flight"
)

// A Queue is the hosts that are to be worked on. Each goroutine takes one host after
// the other: its stack has to grow to what a host needs only once.
//
// Two things are bounded: how many hosts are worked on, and how many of them are on their way in.
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

// NewQueue is a queue of hosts, in the order in which they begin. Each is worked on once,
// but none begins any more when stop reports true.
func NewQueue(hosts []string, work func(host string, in *WayIn), stop func() bool) *Queue {
	return &Queue{work: work, stop: stop, waiting: hosts}
}

// Run begins as many hosts as there are places, and further ones as places come free. It waits
// for all of them, also for those that are begun by [Queue.StartNow].
func (q *Queue) Run(logins, hosts int) {
	q.Resize(logins, hosts)
	q.workers.Wait()
}

// Resize says how many hosts may be on their way in, and worked on: one each at least. No host that has
// begun ends for it.
func (q *Queue) Resize(logins, hosts int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.logins, q.hosts = max(1, logins), max(1, hosts)
	q.fill()
}

// Load is what has become of the hosts since it was last asked for.
func (q *Queue) Load() flight.Load {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.load
	l.Waiting = len(q.waiting)
	q.load.In, q.load.Took = 0, 0
	return l
}

// fill gives free places to hosts, first to those that have had one, with the lock held.
func (q *Queue) fill() {
	for host, ok := q.next(); ok; host, ok = q.next() {
		q.start(host)
	}
}

// next takes the next host, if there is a place for it that none wants back, with the lock held. When no host begins
// any more, those that have begun wait for no place: they come to an end.
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

// start has a new goroutine work on a host that was taken, and on others behind it, with the lock held.
func (q *Queue) start(host string) {
	q.workers.Go(func() {
		for ok := true; ok; {
			w := q.wayIn()
			q.work(host, w)
			host, ok = q.after(w)
		}
	})
}

// after ends a host, and gives its goroutine the next one.
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
