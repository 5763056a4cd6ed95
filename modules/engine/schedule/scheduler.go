package schedule

import (
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// Work describes the work for a [Scheduler].
type Work struct {
	Parallel int // number of entries that may run in parallel
	// Alone reports whether only one entry of the type of i may run at a time: packages that are ready together go into
	// one transaction, and of two transactions one would wait for the other.
	Alone func(i int) bool
	// Turn brings an entry to its result, with the lock of the scheduler. began is false
	// if the run is to end before its turn.
	Turn func(i int) (began bool, err error)
	// Interrupted reports whether no further entry may begin.
	Interrupted func() bool
}

// A Scheduler runs the entries of a catalog in parallel, as far as they do not depend on each other. An entry in
// progress holds the scheduler's lock, and releases it during [Scheduler.Outside] and [Scheduler.Aside].
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
	with     map[int][]int   // entry → entries that run together with it
	alone    map[string]bool // types that run alone → whether one is running
	changed  *sync.Cond      // a place may be free, a claim has ended, or all have ended
	stopped  bool            // nothing more is begun
	err      error
	changing int // entries that are changing the host
	claims   claims
}

// New computes the dependencies of the entries.
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

// Run runs all entries. stopped reports that it ended before all had their turn.
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

// lane returns the queue of a ready entry: the common queue, or the queue of its type.
func (s *Scheduler) lane(i int) string {
	typ := s.entries[i].Type
	if _, alone := s.alone[typ]; alone {
		return typ
	}
	return ""
}

// first returns the lane of the first ready entry that may begin.
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

// workOn runs an entry, and then the entries that ran with it.
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

// occupy reserves a place for an entry, and for a type that runs alone the only one.
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

// Ready returns the ready entries of the type of i, if one of them may run at a time.
func (s *Scheduler) Ready(i int) []int { return s.ready[s.entries[i].Type] }

// Join makes ready entries run together with one that has begun: their turns come right after its own.
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

// Aside releases the place of the entry i while f waits for something outside of this host.
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

// Claim waits until no other entry claims the things of keys. It returns false if one of them was changed since: then
// the result of the Check is outdated, and they are not claimed.
func (s *Scheduler) Claim(keys []string, since int) bool {
	if s == nil {
		return true
	}
	for s.claims.busy(keys) {
		s.changed.Wait()
	}
	return s.claims.take(keys, since)
}

// TryClaim is Claim without waiting: it returns false if another entry has claimed one of the things.
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
