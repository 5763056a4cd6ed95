package schedule

import (
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// Work is what a [Scheduler] needs to know of those who do it.
type Work struct {
	Parallel int // how many entries may be worked on at once
	// Alone reports whether of the type of an entry one resource at a time is worked on:
	// packages that are ready together go into one transaction, and of two transactions
	// one would wait for the other.
	Alone func(i int) bool
	// Turn brings an entry to its result, with the lock of the scheduler. began is false
	// if the run is to end before its turn.
	Turn func(i int) (began bool, err error)
	// Interrupted reports whether nothing more shall be begun.
	Interrupted func() bool
}

// A Scheduler has the entries of a catalog worked on at once, as far as they do not depend
// on each other. Who works on an entry holds the scheduler's lock, and lets go of it
// [Scheduler.Outside] and [Scheduler.Aside].
type Scheduler struct {
	mu       sync.Mutex
	entries  []wire.Entry
	work     Work
	workers  sync.WaitGroup
	waits    []int            // entry → how many others it still waits for
	behind   [][]int          // entry → who waits for it
	ready    map[string][]int // entries that wait for no other any more, in their order, by lane
	working  int              // entries that have a place
	back     int              // entries that want theirs back; see Aside
	alive    int              // entries that have begun and not ended
	ended    int
	with     map[int][]int   // entry → those that are worked on together with it
	alone    map[string]bool // types of which one resource at a time is worked on → one is
	changed  *sync.Cond      // a place may be free, a claim has ended, or all have ended
	stopped  bool            // nothing more is begun
	err      error
	changing int // entries that are changing the host
	claims   claims
}

// New finds out who waits for whom.
func New(entries []wire.Entry, work Work) *Scheduler {
	n := len(entries)
	s := &Scheduler{entries: entries, work: work, waits: make([]int, n), behind: make([][]int, n),
		ready: map[string][]int{}, with: map[int][]int{}, alone: map[string]bool{}, claims: newClaims()}
	s.changed = sync.NewCond(&s.mu)
	for i := range entries {
		for j := range wire.Dependencies(entries, i) {
			s.waits[i]++
			s.behind[j] = append(s.behind[j], i)
		}
		if work.Alone(i) {
			s.alone[entries[i].Type] = false
		}
	}
	for i := range entries {
		if lane := s.lane(i); s.waits[i] == 0 {
			s.ready[lane] = append(s.ready[lane], i)
		}
	}
	return s
}

// Run has all entries worked on. stopped says that it ended before all had their turn.
func (s *Scheduler) Run() (stopped bool, err error) {
	defer s.workers.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch()
	for s.alive > 0 {
		s.changed.Wait()
	}
	return s.err == nil && s.ended < len(s.entries), s.err
}

// lane is where an entry waits that is ready: with all others, or with those of its type.
func (s *Scheduler) lane(i int) string {
	typ := s.entries[i].Type
	if _, alone := s.alone[typ]; alone {
		return typ
	}
	return ""
}

// first gives the lane of the first entry that is ready and may begin.
func (s *Scheduler) first() (lane string, ok bool) {
	for name, entries := range s.ready {
		if len(entries) > 0 && !s.alone[name] && (!ok || entries[0] < s.ready[lane][0]) {
			lane, ok = name, true
		}
	}
	return lane, ok
}

// dispatch begins what can be begun.
func (s *Scheduler) dispatch() {
	for s.working+s.back < s.work.Parallel && s.err == nil && !s.stopped {
		lane, ok := s.first()
		if !ok {
			return
		}
		if s.work.Interrupted() {
			s.stopped = true
			return
		}
		i := s.ready[lane][0]
		s.ready[lane] = s.ready[lane][1:]
		s.occupy(i)
		s.alive++
		s.workers.Go(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.workOn(i)
		})
	}
}

// workOn brings an entry to its result, and then those that went with it.
func (s *Scheduler) workOn(i int) {
	s.turn(i)
	for _, j := range s.with[i] {
		s.turn(j)
	}
	s.release(i)
	s.alive--
	s.dispatch()
}

func (s *Scheduler) turn(i int) {
	began, err := s.work.Turn(i)
	if err != nil {
		s.err = err
	}
	if !began {
		s.stopped = true
		return
	}
	s.ended++
	for _, next := range s.behind[i] {
		if s.waits[next]--; s.waits[next] == 0 {
			lane := s.lane(next)
			at, _ := slices.BinarySearch(s.ready[lane], next)
			s.ready[lane] = slices.Insert(s.ready[lane], at, next)
		}
	}
}

// occupy takes a place for an entry, and for types that are worked on alone the only one.
func (s *Scheduler) occupy(i int) {
	s.working++
	if _, alone := s.alone[s.entries[i].Type]; alone {
		s.alone[s.entries[i].Type] = true
	}
}

func (s *Scheduler) release(i int) {
	s.working--
	if typ := s.entries[i].Type; s.alone[typ] {
		s.alone[typ] = false
	}
	s.changed.Broadcast()
}

// Ready gives the entries of the type of i that wait for no other any more, if one of them
// at a time is worked on.
func (s *Scheduler) Ready(i int) []int { return s.ready[s.entries[i].Type] }

// Join has entries that are ready worked on together with one that has begun: their turns
// come right after its own.
func (s *Scheduler) Join(i int, others []int) {
	if s == nil {
		return
	}
	s.with[i] = others
	for lane, ready := range s.ready {
		s.ready[lane] = slices.DeleteFunc(ready, func(j int) bool { return slices.Contains(others, j) })
	}
}

// Outside has f work on the host, while others hold the lock.
func (s *Scheduler) Outside(f func()) {
	if s == nil {
		f()
		return
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	f()
}

// Change is [Scheduler.Outside] for an f that changes the host.
func (s *Scheduler) Change(f func()) {
	if s == nil {
		f()
		return
	}
	s.changing++
	s.Outside(f)
	s.changing--
}

// Changing reports whether anyone is changing the host.
func (s *Scheduler) Changing() bool { return s != nil && s.changing > 0 }

// Aside gives the place of the entry i to others, while f waits for something that has
// nothing to do with this host.
func (s *Scheduler) Aside(i int, f func()) {
	if s == nil {
		f()
		return
	}
	s.release(i)
	s.dispatch()
	s.mu.Unlock()
	f()
	s.mu.Lock()
	s.back++
	for s.working >= s.work.Parallel || s.alone[s.entries[i].Type] {
		s.changed.Wait()
	}
	s.back--
	s.occupy(i)
}

// Clock counts the claims that have ended.
func (s *Scheduler) Clock() int {
	if s == nil {
		return 0
	}
	return s.claims.changes
}

// Claim waits until the things of keys are not claimed by others. It reports false if one of
// them was changed since: then what was found out about them is out of date, and they are
// not claimed.
func (s *Scheduler) Claim(keys []string, since int) bool {
	if s == nil {
		return true
	}
	for s.claims.busy(keys) {
		s.changed.Wait()
	}
	return s.claims.take(keys, since)
}

// TryClaim is Claim for things that can as well be left alone if others have claimed them.
func (s *Scheduler) TryClaim(keys []string, since int) bool {
	if s == nil {
		return true
	}
	return !s.claims.busy(keys) && s.claims.take(keys, since)
}

// Unclaim ends a claim.
func (s *Scheduler) Unclaim(keys []string) {
	if s == nil {
		return
	}
	s.claims.end(keys)
	s.changed.Broadcast()
}
