package queue

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"
)

// InProcess is a queue whose coordinators and workers are goroutines of one process. The zero value
// is not ready: see [NewInProcess].
type InProcess struct {
	lease time.Duration

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, when anything changes
	tickets []*localTicket
	runs    map[string]*localRun
	present map[string]localPresence
}

type localPresence struct {
	data []byte
	at   time.Time
}

// NewInProcess makes one whose leases last so long; 0 means [LeaseTime].
func NewInProcess(lease time.Duration) *InProcess {
	if lease == 0 {
		lease = LeaseTime
	}
	return &InProcess{lease: lease, changed: make(chan struct{}), runs: map[string]*localRun{}}
}

type localTicket struct {
	queue *InProcess
	run   string
	site  string
	data  []byte
	until time.Time // when its lease ends; zero: it waits
	done  bool
	given int // how often it was leased
}

type localRun struct {
	queue   *InProcess
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
func (q *InProcess) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// await waits until ready, which is called with the lock held, reports true. It looks again when something has
// changed, or when a lease may have ended.
func (q *InProcess) await(ctx context.Context, ready func() bool) error {
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

// User implements [Queue].
func (q *InProcess) User() string { return anyUser }

// Announce implements [Queue].
func (q *InProcess) Announce(_ context.Context, name string, data []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.present == nil {
		q.present = map[string]localPresence{}
	}
	q.present[name] = localPresence{data, time.Now()}
	return nil
}

// Present implements [Queue].
func (q *InProcess) Present(context.Context) (all []Presence, isNew bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range q.present {
		all = append(all, Presence{User: anyUser, Data: p.data, Age: time.Since(p.at)})
	}
	return all, false, nil
}

// Connected implements [Queue].
func (q *InProcess) Connected() bool { return true }

// Open implements [Queue].
func (q *InProcess) Open(_ context.Context, name string) (Run, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.runs[name] != nil {
		return nil, fmt.Errorf("there is a run %q already", name)
	}
	r := &localRun{queue: q, name: name, objects: map[string][]byte{}, hear: map[int]func([]byte){}}
	q.runs[name] = r
	return r, nil
}

// Lease implements [Queue].
func (q *InProcess) Lease(ctx context.Context, site string) (Lease, error) {
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

// Join implements [Queue].
func (q *InProcess) Join(_ context.Context, name string) (Member, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.runs[name]; r != nil {
		return r, nil
	}
	return nil, ErrGone
}

// A localLease is one time that a ticket was leased.
type localLease struct {
	*localTicket
	time int
}

// Lasts implements [Lease].
func (l *localLease) Lasts() time.Duration { return l.queue.lease }

// Ticket implements [Lease].
func (l *localLease) Ticket() []byte { return l.data }

// change changes the ticket if the lease has not ended.
func (l *localLease) change(f func()) error {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	if l.given == l.time && !l.done {
		f()
		l.queue.wake()
	}
	return nil
}

// Extend implements [Lease].
func (l *localLease) Extend(context.Context) error {
	return l.change(func() { l.until = time.Now().Add(l.queue.lease) })
}

// Done implements [Lease].
func (l *localLease) Done(context.Context) error { return l.change(func() { l.done = true }) }

// Return implements [Lease].
func (l *localLease) Return(context.Context) error {
	return l.change(func() { l.until = time.Time{} })
}

// Submit implements [Desk].
func (r *localRun) Submit(_ context.Context, site string, ticket []byte) error {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	r.queue.tickets = append(r.queue.tickets, &localTicket{queue: r.queue, run: r.name, site: site, data: ticket})
	r.queue.wake()
	return nil
}

// Withdraw implements [Desk].
func (r *localRun) Withdraw(context.Context) error {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	r.withdraw(func(t *localTicket) bool { return t.until.IsZero() })
	return nil
}

func (r *localRun) withdraw(which func(*localTicket) bool) {
	r.queue.tickets = slices.DeleteFunc(r.queue.tickets, func(t *localTicket) bool {
		out := t.run == r.name && which(t)
		t.done = t.done || out
		return out
	})
}

// Answer implements [Desk].
func (r *localRun) Answer(_ context.Context, answer func(ctx context.Context, question []byte) []byte) error {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	r.answer = answer
	return nil
}

// Put implements [Desk].
func (r *localRun) Put(_ context.Context, data []byte) (string, error) {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	name := rand.Text()
	r.objects[name] = data
	return name, nil
}

// Delete implements [Desk].
func (r *localRun) Delete(_ context.Context, name string) error {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	delete(r.objects, name)
	return nil
}

// Said implements [Run].
func (r *localRun) Said(ctx context.Context) (data []byte, number uint64, err error) {
	err = r.queue.await(ctx, func() bool {
		if r.read < len(r.said) {
			data, r.said[r.read] = r.said[r.read], nil
			r.read++
			number = uint64(r.read)
			return true
		}
		return r.closed
	})
	if err == nil && data == nil {
		err = ErrGone
	}
	return data, number, err
}

// LastSaid implements [Run].
func (r *localRun) LastSaid(context.Context) (number uint64, err error) {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	return uint64(len(r.said)), nil
}

// Order implements [Run].
func (r *localRun) Order(_ context.Context, data []byte) error {
	r.queue.mu.Lock()
	var all []func([]byte)
	for _, hear := range r.hear {
		all = append(all, hear)
	}
	r.queue.mu.Unlock()
	for _, hear := range all {
		hear(data)
	}
	return nil
}

// Close implements [Run].
func (r *localRun) Close(context.Context) error {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	r.withdraw(func(*localTicket) bool { return true })
	r.closed, r.objects, r.said, r.read = true, nil, nil, 0
	delete(r.queue.runs, r.name)
	r.queue.wake()
	return nil
}

// Ask implements [Member].
func (r *localRun) Ask(ctx context.Context, question []byte) ([]byte, error) {
	r.queue.mu.Lock()
	answer, gone := r.answer, r.closed || r.answer == nil
	r.queue.mu.Unlock()
	if gone {
		return nil, ErrGone
	}
	return answer(ctx, question), nil
}

// Get implements [Member].
func (r *localRun) Get(_ context.Context, name string) ([]byte, error) {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	data, ok := r.objects[name]
	if !ok {
		return nil, fmt.Errorf("there is no object %q: %w", name, ErrGone)
	}
	return data, nil
}

// Say implements [Member].
func (r *localRun) Say(_ context.Context, data []byte) error {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	if r.closed {
		return ErrGone
	}
	r.said = append(r.said, data)
	r.queue.wake()
	return nil
}

// Orders implements [Member].
func (r *localRun) Orders(ctx context.Context, hear func([]byte)) error {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	n := r.heard
	r.heard++
	r.hear[n] = hear
	context.AfterFunc(ctx, func() {
		r.queue.mu.Lock()
		defer r.queue.mu.Unlock()
		delete(r.hear, n)
	})
	return nil
}
