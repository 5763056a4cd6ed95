package activity

import (
	"sync"
	"time"
)

// A Tracker knows what the hosts of a run are at. It holds those that are worked on, and
// of those that are done how they ended. A nil Tracker notes nothing; methods may be called by any goroutine.
type Tracker struct {
	mu      sync.Mutex
	began   time.Time // zero before the run begins
	check   bool
	hosts   int
	ended   []Ended
	changed int
	failed  int
	// unreachable are none of those that failed.
	unreachable int
	watch       *Watch // nil before hosts are watched
	working     map[*Host]struct{}
}

// A Host is what is known of one host. A nil Host notes nothing.
type Host struct {
	tracker *Tracker // whose lock guards the rest
	name    string

	what       string // it is at: a phase or, before a resource, its type
	resource   string // "" in a phase
	since      time.Time
	sent, size int64       // bytes of the host program that is on its way; 0 of none
	pinned     bool        // what it is at stays as it is
	waits      func() bool // whether it waits for other hosts; nil does not

	changed, failed, unreachable bool // counted
}

// Begin says that the run begins, and has so many hosts. Nothing is shown before that.
func (t *Tracker) Begin(hosts int, check bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began, t.hosts, t.check = time.Now(), hosts, check
}

// Watch is what hosts that are watched are at; it counts hosts, and of what has drifted and is fought over
// resources.
type Watch struct{ Watched, Unwatched, Drifted, Fighting int }

// Watching says that the plays are over, and what has come of their hosts by now.
func (t *Tracker) Watching(w Watch) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch = &w
}

// Host gives what is to be told of a host.
func (t *Tracker) Host(name string) *Host {
	if t == nil {
		return nil
	}
	return &Host{tracker: t, name: name}
}

// with does something while nobody looks.
func (h *Host) with(do func(*Tracker)) {
	if h == nil {
		return
	}
	h.tracker.mu.Lock()
	defer h.tracker.mu.Unlock()
	do(h.tracker)
}

// Work says that the host is worked on from now on.
func (h *Host) Work() {
	h.with(func(t *Tracker) {
		if t.working == nil {
			t.working = map[*Host]struct{}{}
		}
		t.working[h] = struct{}{}
		h.enter("beginning", "")
	})
}

// At says which phase the host is in, such as "connecting".
func (h *Host) At(phase string) { h.with(func(*Tracker) { h.enter(phase, "") }) }

// AtResource says which resource the host is at.
func (h *Host) AtResource(kind, name string) { h.with(func(*Tracker) { h.enter(kind, name) }) }

func (h *Host) enter(what, resource string) {
	if h.pinned || h.what == what && h.resource == resource && !h.since.IsZero() {
		return
	}
	h.what, h.resource, h.since, h.sent, h.size = what, resource, time.Now(), 0, 0
}

// Pin is At for what is made of smaller steps: those do not count until the function that it
// gives is called.
func (h *Host) Pin(phase string) (unpin func()) {
	h.with(func(*Tracker) {
		h.enter(phase, "")
		h.pinned = true
	})
	return func() { h.with(func(*Tracker) { h.pinned = false }) }
}

// Repin changes what a pinned host is at; it has no effect on a host that is not pinned.
func (h *Host) Repin(phase string) {
	h.with(func(*Tracker) {
		if h.pinned {
			h.pinned = false
			h.enter(phase, "")
			h.pinned = true
		}
	})
}

// Sent says how much of the host program, in bytes, is on its way.
func (h *Host) Sent(n, size int64) { h.with(func(*Tracker) { h.sent, h.size = n, size }) }

// Waits gives the function that tells whether the host waits for other ones. It is called
// while the tracker is locked.
func (h *Host) Waits(waits func() bool) { h.with(func(*Tracker) { h.waits = waits }) }

// Came says what a host's results have come to so far.
func (h *Host) Came(changed, failed bool) {
	h.with(func(t *Tracker) {
		count(&t.changed, &h.changed, changed)
		count(&t.failed, &h.failed, failed)
	})
}

// Lost says that the host has failed as a whole, or could not be reached.
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

// Rest says that the host is not worked on for now.
func (h *Host) Rest() { h.with(func(t *Tracker) { h.leave(t) }) }

// Done says that the host has no more to do.
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
