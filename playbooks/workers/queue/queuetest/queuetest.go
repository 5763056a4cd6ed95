// Package queuetest is a queue of workers for tests, without a server.
package queuetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// A Queue is a [queue.Queue] whose coordinators and workers are goroutines of one process. [New] makes one.
type Queue struct {
	lease time.Duration

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, with each change
	tickets []*localTicket
	runs    map[string]*localRun
	present map[string]localPresence
}

type localPresence struct {
	data []byte
	at   time.Time
}

// New makes a queue. Its leases last for lease, or for [queue.LeaseTime] if lease is 0.
func New(lease time.Duration) *Queue {
	if lease == 0 {
		lease = queue.LeaseTime
	}
	return &Queue{lease: lease, changed: make(chan struct{}), runs: map[string]*localRun{}}
}

type localTicket struct {
	of    *Queue
	run   string
	site  string
	data  []byte
	until time.Time // when its lease ends; zero: it waits
	done  bool
	given int // how often it was leased
}

type localRun struct {
	of      *Queue
	name    string
	objects map[string][]byte
	said    [][]byte
	read    int
	answer  func(ctx context.Context, question []byte) []byte
	hear    map[int]func([]byte)
	closed  bool
	heard   int // listeners so far
}

// wake has those look again who wait, with the lock held.
func (q *Queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// await waits until ready, which is called with the lock held, reports true. It looks again when something has
// changed, or when a lease may have ended.
func (q *Queue) await(ctx context.Context, ready func() bool) error {
	for {
		q.mu.Lock()
		if ready() {
			q.mu.Unlock()
			return nil
		}
		changed, next := q.changed, q.lease
		for _, t := range q.tickets {
			if !t.done && !t.until.IsZero() {
				next = min(next, max(time.Millisecond, time.Until(t.until)))
			}
		}
		q.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(next):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// End ends a lease early, as if its worker were lost.
func (q *Queue) End(l queue.Lease) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.(*localLease).until = time.Now()
	q.wake()
}

// User implements [queue.Queue].
func (q *Queue) User() string { return "any" }

// Announce implements [queue.Queue].
func (q *Queue) Announce(_ context.Context, name string, data []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.present == nil {
		q.present = map[string]localPresence{}
	}
	q.present[name] = localPresence{data, time.Now()}
	return nil
}

// Present implements [queue.Queue].
func (q *Queue) Present(context.Context) (all []queue.Presence, since time.Duration, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range q.present {
		all = append(all, queue.Presence{User: "any", Data: p.data, Age: time.Since(p.at)})
	}
	return all, time.Hour, nil
}

// Connected implements [queue.Queue].
func (q *Queue) Connected() bool { return true }

// Open implements [queue.Queue].
func (q *Queue) Open(_ context.Context, name string) (queue.Run, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.runs[name] != nil {
		return nil, fmt.Errorf("there is a run %q already", name)
	}
	r := &localRun{of: q, name: name, objects: map[string][]byte{}, hear: map[int]func([]byte){}}
	q.runs[name] = r
	return r, nil
}

// Lease implements [queue.Queue].
func (q *Queue) Lease(ctx context.Context, site string) (queue.Lease, error) {
	var found *localTicket
	err := q.await(ctx, func() bool {
		for _, t := range q.tickets {
			if t.site == site && !t.done && !time.Now().Before(t.until) {
				found = t
				t.until = time.Now().Add(q.lease)
				t.given++
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	return &localLease{found, found.given}, nil
}

// Join implements [queue.Queue].
func (q *Queue) Join(_ context.Context, name string) (queue.Member, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.runs[name]; r != nil {
		return r, nil
	}
	return nil, queue.ErrGone
}

// A localLease is one time that a ticket was leased.
type localLease struct {
	*localTicket
	time int
}

// Lasts implements [queue.Lease].
func (l *localLease) Lasts() time.Duration { return l.of.lease }

// Ticket implements [queue.Lease].
func (l *localLease) Ticket() []byte { return l.data }

// change changes the ticket if the lease has not ended.
func (l *localLease) change(f func()) error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if l.given == l.time && !l.done {
		f()
		l.of.wake()
	}
	return nil
}

// Extend implements [queue.Lease].
func (l *localLease) Extend(context.Context) error {
	return l.change(func() { l.until = time.Now().Add(l.of.lease) })
}

// Done implements [queue.Lease].
func (l *localLease) Done(context.Context) error { return l.change(func() { l.done = true }) }

// Return implements [queue.Lease].
func (l *localLease) Return(context.Context) error {
	return l.change(func() { l.until = time.Time{} })
}

// Submit implements [Desk].
func (r *localRun) Submit(_ context.Context, site string, ticket []byte) error {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.of.tickets = append(r.of.tickets, &localTicket{of: r.of, run: r.name, site: site, data: ticket})
	r.of.wake()
	return nil
}

// Withdraw implements [Desk].
func (r *localRun) Withdraw(context.Context) error {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.withdraw(func(t *localTicket) bool { return t.until.IsZero() })
	return nil
}

func (r *localRun) withdraw(which func(*localTicket) bool) {
	r.of.tickets = slices.DeleteFunc(r.of.tickets, func(t *localTicket) bool {
		out := t.run == r.name && which(t)
		t.done = t.done || out
		return out
	})
}

// Answer implements [Desk].
func (r *localRun) Answer(_ context.Context, answer func(ctx context.Context, question []byte) []byte) error {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.answer = answer
	return nil
}

// Put implements [Desk].
func (r *localRun) Put(_ context.Context, data []byte) (string, error) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	name := rand.Text()
	r.objects[name] = data
	return name, nil
}

// Delete implements [Desk].
func (r *localRun) Delete(_ context.Context, name string) error {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	delete(r.objects, name)
	return nil
}

// Said implements [queue.Run].
func (r *localRun) Said(ctx context.Context) (data []byte, number uint64, err error) {
	err = r.of.await(ctx, func() bool {
		if r.read < len(r.said) {
			data, r.said[r.read] = r.said[r.read], nil
			r.read++
			number = uint64(r.read)
			return true
		}
		return r.closed
	})
	if err == nil && data == nil {
		err = queue.ErrGone
	}
	return data, number, err
}

// LastSaid implements [queue.Run].
func (r *localRun) LastSaid(context.Context) (number uint64, err error) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return uint64(len(r.said)), nil
}

// Order implements [queue.Run].
func (r *localRun) Order(_ context.Context, data []byte) error {
	r.of.mu.Lock()
	var all []func([]byte)
	for _, hear := range r.hear {
		all = append(all, hear)
	}
	r.of.mu.Unlock()
	for _, hear := range all {
		hear(data)
	}
	return nil
}

// Close implements [queue.Run].
func (r *localRun) Close(context.Context) error {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.withdraw(func(*localTicket) bool { return true })
	r.closed, r.objects, r.said, r.read = true, nil, nil, 0
	delete(r.of.runs, r.name)
	r.of.wake()
	return nil
}

// Ask implements [Member].
func (r *localRun) Ask(ctx context.Context, question []byte) ([]byte, error) {
	r.of.mu.Lock()
	answer, gone := r.answer, r.closed || r.answer == nil
	r.of.mu.Unlock()
	if gone {
		return nil, queue.ErrGone
	}
	return answer(ctx, question), nil
}

// Get implements [Member].
func (r *localRun) Get(_ context.Context, name string) ([]byte, error) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	data, ok := r.objects[name]
	if !ok {
		return nil, fmt.Errorf("there is no object %q: %w", name, queue.ErrGone)
	}
	return data, nil
}

// Say implements [Member].
func (r *localRun) Say(_ context.Context, data []byte) error {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.closed {
		return queue.ErrGone
	}
	r.said = append(r.said, data)
	r.of.wake()
	return nil
}

// Orders implements [Member].
func (r *localRun) Orders(ctx context.Context, hear func([]byte)) error {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	n := r.heard
	r.heard++
	r.hear[n] = hear
	context.AfterFunc(ctx, func() {
		r.of.mu.Lock()
		defer r.of.mu.Unlock()
		delete(r.hear, n)
	})
	return nil
}
