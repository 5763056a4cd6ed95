package share

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Semaphores are those of a run, by name: all its hosts and plays have the same.
// The zero value is ready for use by many goroutines at once.
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

// A Turn is the claim of one resource on all its semaphores. They are taken one
// after the other in the order of their names, which is the same for all, so that no
// two turns ever wait for each other.
type Turn struct {
	set      *Semaphores
	claims   []Claim
	held     int           // how many of the claims, from the first one on, it holds
	granted  chan struct{} // closed once it holds all
	released chan struct{} // closed once it is released
	over     bool
	end      func() // of a turn without a set
}

// A Claim is one semaphore of a turn: NAME:N in a manifest.
type Claim struct {
	name string
	most int // how many may hold it at once
}

// maxHolders bounds N of NAME:N.
const maxHolders = 1_000_000

// String is the claim as it stands in a manifest.
func (c Claim) String() string { return c.name + ":" + strconv.Itoa(c.most) }

// NewTurn is a claim that is decided about elsewhere: grant grants it, and end is called once it is released.
func NewTurn(end func()) (t *Turn, grant func()) {
	t = &Turn{granted: make(chan struct{}), released: make(chan struct{})}
	t.end = sync.OnceFunc(func() {
		close(t.released)
		end()
	})
	return t, sync.OnceFunc(func() { close(t.granted) })
}

// ParseSemaphores reads claims as they stand in a manifest, and sorts them by name. A name that
// stands there twice is taken once, for the smaller number.
func ParseSemaphores(specs []string) ([]Claim, error) {
	var all []Claim
	for _, spec := range specs {
		name, number, counted := strings.Cut(spec, ":")
		c := Claim{name, 1}
		if counted {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 || n > maxHolders {
				return nil, fmt.Errorf("semaphore %q: how many hosts may hold it at once is a number from 1 to %d", spec, maxHolders)
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

// Request queues for semaphores; claims are sorted as [ParseSemaphores] gives them. The turn is to
// be released, also if it is not granted yet.
func (s *Semaphores) Request(claims []Claim) *Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Turn{set: s, claims: claims, granted: make(chan struct{}), released: make(chan struct{})}
	t.advance()
	return t
}

// advance takes what is free, up to the first semaphore that is not, and queues for that.
func (t *Turn) advance() {
	for t.held < len(t.claims) {
		c := t.claims[t.held]
		one := t.set.named(c.name)
		if len(one.queue) > 0 || !one.admits(c.most) {
			one.queue = append(one.queue, t)
			return
		}
		one.holders[t] = c.most
		t.held++
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

// admits reports whether one more may hold it, both by its claim and by those of the
// holders.
func (s *semaphore) admits(most int) bool {
	for _, other := range s.holders {
		most = min(most, other)
	}
	return len(s.holders) < most
}

// Granted is closed once the turn holds all its semaphores.
func (t *Turn) Granted() <-chan struct{} { return t.granted }

// Released is closed once the turn is released.
func (t *Turn) Released() <-chan struct{} { return t.released }

// Release ends a turn, granted or not; to do so twice is once. Those that wait come next.
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

// serve grants to those that wait, the first first, and forgets a semaphore that is not
// held any more.
func (s *Semaphores) serve(name string, one *semaphore) {
	for len(one.queue) > 0 {
		first := one.queue[0]
		if !one.admits(first.claims[first.held].most) {
			return
		}
		one.queue = one.queue[1:]
		one.holders[first] = first.claims[first.held].most
		first.held++
		first.advance()
	}
	if len(one.holders) == 0 && s.byName[name] == one {
		delete(s.byName, name)
	}
}
