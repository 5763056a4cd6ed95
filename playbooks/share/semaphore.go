package share

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Semaphores are the semaphores of a run, by name, which all its hosts and plays share. The zero value is ready to use
// and safe for concurrent use.
type Semaphores struct {
	mu     sync.Mutex
	byName map[string]*semaphore
}

// A semaphore is held by some turns, and others wait for it in the order of their
// requests.
type semaphore struct {
	holders map[*Turn]int // with how many may hold it at once by the claim of each
	queue   []*Turn
}

// An MayHoldError is the failure of a turn: a host that ccm-push has lost may still hold the semaphore.
type MayHoldError struct {
	Semaphore, Host string
	What            string // the resource, as type#name
}

// Error implements error.
func (e *MayHoldError) Error() string {
	return fmt.Sprintf("semaphore %s: %s may still hold it", e.Semaphore, e.Host)
}

// Hint returns what to check, and the command to run then.
func (e *MayHoldError) Hint() string {
	return fmt.Sprintf("check on %s whether %s still runs; if it has ended, start a new run, or bring the host back and use ccm-push resume", e.Host, e.What)
}

// A Turn is the claim of one resource on all its semaphores. They are taken one
// after the other in the order of their names, which is the same for all, so that no
// two turns ever wait for each other.
type Turn struct {
	set      *Semaphores
	claims   []Claim
	held     int           // how many of the claims, from the first one on, it holds
	granted  chan struct{} // closed once it holds all, or has failed
	released chan struct{} // closed once it is released
	over     bool
	err      error         // the failure of the turn; nil if it has not failed
	lost     *MayHoldError // set once its host was given up and may still hold the semaphores
	timer    *time.Timer   // frees the semaphores of a lost host; nil if nothing does
	end      func()        // end of a turn without a set
}

// A Claim is one semaphore of a turn: NAME:N in a manifest.
type Claim struct {
	name string
	most int // how many may hold it at once
}

// maxHolders bounds N of NAME:N.
const maxHolders = 1_000_000

// String returns the claim in the form of a manifest.
func (c Claim) String() string { return c.name + ":" + strconv.Itoa(c.most) }

// NewTurn returns a claim that is decided elsewhere. decide grants it, or fails it with an error. end is called once it
// is released; abandoned is set if its host was given up and may still hold the semaphores.
func NewTurn(end func(abandoned bool)) (t *Turn, decide func(error)) {
	t = &Turn{granted: make(chan struct{}), released: make(chan struct{})}
	t.end = sync.OnceFunc(func() {
		close(t.released)
		end(t.lost != nil)
	})
	var once sync.Once
	return t, func(err error) {
		once.Do(func() {
			t.err = err
			close(t.granted)
		})
	}
}

// ParseSemaphores reads claims in the form of a manifest, and sorts them by name. A repeated name is claimed once, with
// the smaller number.
func ParseSemaphores(specs []string) ([]Claim, error) {
	var all []Claim
	for _, spec := range specs {
		name, number, counted := strings.Cut(spec, ":")
		c := Claim{name, 1}
		if counted {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 || n > maxHolders {
				return nil, fmt.Errorf("semaphore %q: the number of hosts that may hold it at once must be from 1 to %d", spec, maxHolders)
			}
			c.most = n
		}
		if name == "" {
			return nil, fmt.Errorf("semaphore %q has no name", spec)
		}
		if i := slices.IndexFunc(all, func(other Claim) bool { return other.name == name }); i >= 0 {
			all[i].most = min(all[i].most, c.most)
			continue
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Claim) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// Request queues for semaphores; claims must be sorted as by [ParseSemaphores]. The caller must release the turn, even
// if it is not granted yet.
func (s *Semaphores) Request(claims []Claim) *Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Turn{set: s, claims: claims, granted: make(chan struct{}), released: make(chan struct{})}
	t.advance()
	return t
}

// Reserve returns a turn that holds semaphores already, also more than they admit: an earlier run has granted
// them to a host that may still hold them.
func (s *Semaphores) Reserve(claims []Claim) *Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Turn{set: s, claims: claims, held: len(claims), granted: make(chan struct{}), released: make(chan struct{})}
	for _, c := range claims {
		s.named(c.name).holders[t] = c.most
	}
	close(t.granted)
	return t
}

// advance takes free semaphores, up to the first one that is not free, and queues for that. It fails the turn if a lost
// host may hold that one forever.
func (t *Turn) advance() {
	for t.held < len(t.claims) {
		c := t.claims[t.held]
		one := t.set.named(c.name)
		if len(one.queue) > 0 || !one.admits(c.most) {
			if by := one.lostHolder(c.most); by != nil {
				t.fail(c.name, by)
				return
			}
			one.queue = append(one.queue, t)
			return
		}
		one.holders[t] = c.most
		t.held++
	}
	close(t.granted)
}

// lostHolder returns a lost holder without a deadline if a turn with a claim of most can never be granted
// for such holders; nil if it can.
func (s *semaphore) lostHolder(most int) (by *Turn) {
	lost := 0
	for other, limit := range s.holders {
		if other.lost == nil || other.timer != nil {
			continue
		}
		lost, most = lost+1, min(most, limit)
		if by == nil || other.lost.Host < by.lost.Host {
			by = other
		}
	}
	if lost < most {
		return nil
	}
	return by
}

// fail ends a turn that waits for a semaphore which the host of by may hold for ever. It is in no queue.
func (t *Turn) fail(semaphore string, by *Turn) {
	t.err = &MayHoldError{semaphore, by.lost.Host, by.lost.What}
	held := t.claims[:t.held]
	t.claims, t.held = nil, 0
	for _, c := range held {
		one := t.set.byName[c.name]
		delete(one.holders, t)
		t.set.serve(c.name, one)
	}
	close(t.granted)
}

func (s *Semaphores) named(name string) *semaphore {
	one := s.byName[name]
	if one == nil {
		one = &semaphore{holders: map[*Turn]int{}}
		if s.byName == nil {
			s.byName = map[string]*semaphore{}
		}
		s.byName[name] = one
	}
	return one
}

// admits reports whether one more holder is allowed, both by its claim and by the claims of the holders.
func (s *semaphore) admits(most int) bool {
	for _, other := range s.holders {
		most = min(most, other)
	}
	return len(s.holders) < most
}

// Granted is closed once the turn holds all its semaphores, or has failed: see [Turn.Err].
func (t *Turn) Granted() <-chan struct{} { return t.granted }

// Err returns the failure of a turn, once Granted is closed; nil if it holds its semaphores.
func (t *Turn) Err() error { return t.err }

// Abandon records that the host of a granted turn was given up during a resource (what, as type#name). The semaphores
// are free again after the time within, which ends the resource on the host. If within is 0, they stay taken, and turns
// that can never be granted fail.
func (t *Turn) Abandon(host, what string, within time.Duration) {
	lost := &MayHoldError{Host: host, What: what}
	if t.set == nil {
		t.lost = lost
		t.end()
		return
	}
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	if t.over || t.lost != nil {
		return
	}
	t.lost = lost
	if within > 0 {
		t.timer = time.AfterFunc(within, t.Release)
		return
	}
	for _, c := range t.claims[:t.held] {
		t.set.serve(c.name, t.set.byName[c.name])
	}
}

// Close stops the timers of lost hosts. Nothing is requested after it.
func (s *Semaphores) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.byName {
		for t := range one.holders {
			if t.timer != nil {
				t.timer.Stop()
			}
		}
	}
}

// Released is closed once the turn is released.
func (t *Turn) Released() <-chan struct{} { return t.released }

// Release ends a turn, granted or not; a second call does nothing. Waiting turns are served next.
func (t *Turn) Release() {
	if t.set == nil {
		t.end()
		return
	}
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	close(t.released)
	for i, c := range t.claims[:min(t.held+1, len(t.claims))] {
		one := t.set.byName[c.name]
		if i < t.held {
			delete(one.holders, t)
		} else {
			one.queue = slices.DeleteFunc(one.queue, func(other *Turn) bool { return other == t })
		}
		t.set.serve(c.name, one)
	}
}

// serve grants to waiting turns in their order, and drops a semaphore without holders.
func (s *Semaphores) serve(name string, one *semaphore) {
	for len(one.queue) > 0 {
		first := one.queue[0]
		most := first.claims[first.held].most
		if !one.admits(most) {
			by := one.lostHolder(most)
			if by == nil {
				return
			}
			one.queue = one.queue[1:]
			first.fail(name, by)
			continue
		}
		one.queue = one.queue[1:]
		one.holders[first] = most
		first.held++
		first.advance()
	}
	if len(one.holders) == 0 && s.byName[name] == one {
		delete(s.byName, name)
	}
}
