package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// A schedule says which entries of a catalog can be worked on at once. Whoever uses it
// holds the run's mu.
type schedule struct {
	begin    func(i int)      // starts to work on an entry
	left     []int            // entry → how many others it still waits for
	behind   [][]int          // entry → who waits for it
	ready    map[string][]int // entries that wait for nobody any more, in their order, by lane
	working  int              // entries that have a place
	back     int              // entries that want theirs back; see aside
	alive    int              // entries that have begun and not ended
	ended    int
	changing int             // entries that are changing the host
	changes  int             // how often that has ended
	claimed  map[string]bool // things that are being changed; see claim
	// changedAt is, of such a thing, at which number of changes it was last changed.
	changedAt map[string]int
	with      map[int][]int   // entry → those that it was applied together with
	apart     map[string]bool // types of which one resource at a time is worked on → one is
	changed   *sync.Cond      // a place may be free, or all have ended
	stopped   bool            // nothing more is begun
	err       error
}

// needs gives the entries that one depends on.
func needs(e *modules.Entry) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for _, j := range e.Require {
			if !yield(j) {
				return
			}
		}
		for _, from := range e.Receive {
			if from.From >= 0 && !yield(from.From) {
				return
			}
		}
	}
}

// newSchedule finds out who waits for whom.
func (r *run) newSchedule() *schedule {
	n := len(r.cat.Entries)
	s := &schedule{left: make([]int, n), behind: make([][]int, n), ready: map[string][]int{}, with: map[int][]int{}, apart: map[string]bool{},
		claimed: map[string]bool{}, changedAt: map[string]int{}, changed: sync.NewCond(&r.mu)}
	for i := range r.cat.Entries {
		entry := &r.cat.Entries[i]
		for j := range waitsFor(r.cat.Entries, i) {
			s.left[i]++
			s.behind[j] = append(s.behind[j], i)
		}
		// Packages that are ready together go into one transaction, and of two
		// transactions one would wait for the other.
		if _, ok := r.resources[i].(modules.Batcher); ok {
			s.apart[entry.Type] = false
		}
	}
	for i := range r.cat.Entries {
		if lane := s.lane(r.cat.Entries[i].Type); s.left[i] == 0 {
			s.ready[lane] = append(s.ready[lane], i)
		}
	}
	return s
}

// lane is where entries of a type wait that are ready: with all others, or apart.
func (s *schedule) lane(typ string) string {
	if _, apart := s.apart[typ]; apart {
		return typ
	}
	return ""
}

// first gives the first entry that is ready, and whose type is not worked on if that is
// done apart.
func (s *schedule) first() (lane string, ok bool) {
	for name, entries := range s.ready {
		if len(entries) > 0 && !s.apart[name] && (!ok || entries[0] < s.ready[lane][0]) {
			lane, ok = name, true
		}
	}
	return lane, ok
}

// atOnce works on as many entries at once as the catalog says.
func (r *run) atOnce(ctx context.Context) (stopped bool, err error) {
	s := r.newSchedule()
	r.schedule = s
	var work sync.WaitGroup
	defer work.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	s.begin = func(i int) {
		work.Go(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.turn(ctx, i)
		})
	}
	r.dispatch(ctx)
	for s.alive > 0 {
		s.changed.Wait()
	}
	return s.err == nil && s.ended < len(r.cat.Entries), s.err
}

// dispatch begins what can be begun.
func (r *run) dispatch(ctx context.Context) {
	s := r.schedule
	for s.working+s.back < r.cat.Parallel && s.err == nil && !s.stopped {
		lane, ok := s.first()
		if !ok {
			return
		}
		if r.interrupted(ctx) {
			s.stopped = true
			return
		}
		i := s.ready[lane][0]
		s.ready[lane] = s.ready[lane][1:]
		s.occupy(r.cat.Entries[i].Type)
		s.alive++
		s.begin(i)
	}
}

// take has entries go with one that has begun.
func (s *schedule) take(with int, entries []int) {
	if s == nil {
		return
	}
	s.with[with] = entries
	for lane, ready := range s.ready {
		s.ready[lane] = slices.DeleteFunc(ready, func(i int) bool { return slices.Contains(entries, i) })
	}
}

// turn brings an entry to its result, and then those that went with it.
func (r *run) turn(ctx context.Context, i int) {
	s := r.schedule
	r.turnOf(ctx, i)
	for _, j := range s.with[i] {
		r.turnOf(ctx, j)
	}
	s.release(r.cat.Entries[i].Type)
	s.alive--
	r.dispatch(ctx)
}

func (r *run) turnOf(ctx context.Context, i int) {
	s := r.schedule
	began, err := r.step(ctx, i)
	if err != nil {
		s.err = err
	}
	if !began {
		s.stopped = true
		return
	}
	s.ended++
	for _, next := range s.behind[i] {
		if s.left[next]--; s.left[next] == 0 {
			lane := s.lane(r.cat.Entries[next].Type)
			at, _ := slices.BinarySearch(s.ready[lane], next)
			s.ready[lane] = slices.Insert(s.ready[lane], at, next)
		}
	}
}

// occupy takes a place, and for types that are worked on singly the only one.
func (s *schedule) occupy(typ string) {
	s.working++
	if _, singly := s.apart[typ]; singly {
		s.apart[typ] = true
	}
}

func (s *schedule) release(typ string) {
	s.working--
	if s.apart[typ] {
		s.apart[typ] = false
	}
	s.changed.Broadcast()
}

// outside has f work on the host for the entry i, while others touch the run. What is
// only predicted is about the forecast, which they touch too.
func (r *run) outside(i int, f func()) {
	if r.schedule == nil || r.checked(i) {
		f()
		return
	}
	r.mu.Unlock()
	defer r.mu.Lock()
	f()
}

// aside gives the place of the entry i to others, while f waits for something that has
// nothing to do with this host.
func (r *run) aside(ctx context.Context, i int, f func()) {
	s, typ := r.schedule, r.cat.Entries[i].Type
	if s == nil {
		f()
		return
	}
	s.release(typ)
	r.dispatch(ctx)
	r.mu.Unlock()
	f()
	r.mu.Lock()
	s.back++
	for s.working >= r.cat.Parallel || s.apart[typ] {
		s.changed.Wait()
	}
	s.back--
	s.occupy(typ)
}
