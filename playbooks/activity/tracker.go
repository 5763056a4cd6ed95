package activity

import (
	"sync"
	"time"
)

// A Tracker records the current steps of a run's hosts. It holds the hosts in progress, and the outcomes of finished
// hosts. A nil Tracker records nothing; any goroutine may call the methods.
type Tracker struct {
	mu      sync.Mutex
	began   time.Time // zero before the run begins
	check   bool
	hosts   int
	ended   []Ended
	changed int
	failed  int
	// unreachable hosts are not counted as failed.
	unreachable int
	watch       *Watch // nil before hosts are watched
	working     map[*Host]struct{}
}

// A Host is the state of one host. A nil Host records nothing.
type Host struct {
	tracker *Tracker // its lock guards the other fields
	name    string

	what       string // current step: a phase or, before a resource, its type
	resource   string // "" in a phase
	since      time.Time
	sent, size int64       // bytes of the host program that is on its way; 0 of none
	pinned     bool        // the current step stays
	waits      func() bool // whether it waits for other hosts; nil does not

	changed, failed, unreachable bool // counted
}

// Begin records the begin of the run, with its number of hosts. Before that nothing is shown.
func (t *Tracker) Begin(hosts int, check bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began, t.hosts, t.check = time.Now(), hosts, check
}

// Watch counts watched hosts, and drifted and fought-over resources.
type Watch struct{ Watched, Unwatched, Drifted, Fighting int }

// Watching records that the plays have ended, and the current counts of the watch.
func (t *Tracker) Watching(w Watch) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch = &w
}

// Host returns the record of a host.
func (t *Tracker) Host(name string) *Host {
	if t == nil {
		return nil
	}
	return &Host{tracker: t, name: name}
}

// with calls do with the tracker locked.
func (h *Host) with(do func(*Tracker)) {
	if h == nil {
		return
	}
	h.tracker.mu.Lock()
	defer h.tracker.mu.Unlock()
	do(h.tracker)
}

// Work records that the host is in progress from now on.
func (h *Host) Work() {
	h.with(func(t *Tracker) {
		if t.working == nil {
			t.working = map[*Host]struct{}{}
		}
		t.working[h] = struct{}{}
		h.enter("beginning", "")
	})
}

// At records the phase of the host, such as "connecting".
func (h *Host) At(phase string) { h.with(func(*Tracker) { h.enter(phase, "") }) }

// AtResource records the current resource of the host.
func (h *Host) AtResource(kind, name string) { h.with(func(*Tracker) { h.enter(kind, name) }) }

func (h *Host) enter(what, resource string) {
	if h.pinned || h.what == what && h.resource == resource && !h.since.IsZero() {
		return
	}
	h.what, h.resource, h.since, h.sent, h.size = what, resource, time.Now(), 0, 0
}

// Pin is At for a phase of smaller steps: these are ignored until unpin is called.
func (h *Host) Pin(phase string) (unpin func()) {
	h.with(func(*Tracker) {
		h.enter(phase, "")
		h.pinned = true
	})
	return func() { h.with(func(*Tracker) { h.pinned = false }) }
}

// Repin changes the phase of a pinned host; it has no effect on a host that is not pinned.
func (h *Host) Repin(phase string) {
	h.with(func(*Tracker) {
		if h.pinned {
			h.pinned = false
			h.enter(phase, "")
			h.pinned = true
		}
	})
}

// Sent records the progress of sending the host program, in bytes.
func (h *Host) Sent(n, size int64) { h.with(func(*Tracker) { h.sent, h.size = n, size }) }

// Waits sets a function that reports whether the host waits for other hosts. It is called with the tracker locked.
func (h *Host) Waits(waits func() bool) { h.with(func(*Tracker) { h.waits = waits }) }

// Came records the results of a host so far.
func (h *Host) Came(changed, failed bool) {
	h.with(func(t *Tracker) {
		count(&t.changed, &h.changed, changed)
		count(&t.failed, &h.failed, failed)
	})
}

// Lost records that the host has failed as a whole, or could not be reached.
func (h *Host) Lost(unreachable bool) {
	h.with(func(t *Tracker) {
		count(&t.unreachable, &h.unreachable, unreachable && !h.failed)
		count(&t.failed, &h.failed, !unreachable)
	})
}

// count counts a host once.
func count(n *int, counted *bool, is bool) {
	if is && !*counted {
		*counted = true
		*n++
	}
}

// Rest records that the host is not in progress for now.
func (h *Host) Rest() { h.with(func(t *Tracker) { h.leave(t) }) }

// Done records that the host is done.
func (h *Host) Done() {
	h.with(func(t *Tracker) {
		h.leave(t)
		state := EndedWell
		switch {
		case h.failed:
			state = EndedFailed
		case h.unreachable:
			state = EndedUnreachable
		}
		t.ended = append(t.ended, Ended{Host: h.name, State: state, Changed: h.changed})
	})
}

func (h *Host) leave(t *Tracker) {
	delete(t.working, h)
	h.waits, h.since, h.pinned = nil, time.Time{}, false
}
