package flight

import "time"

// A Window limits the hosts that log in at once, and the hosts in progress. A host is logging in from its first packet
// until it has its catalog: that takes processor time, here a millisecond or two, and round trips. Afterwards the host
// works, and this machine waits for it, which costs memory and an open file.
//
// So the number of logins is the number that keeps the processors busy. Each completed login allows two more, as long
// as no goroutine has to wait for a processor, and logins do not take longer for it. After an overload, a quarter fewer
// are allowed, and eight must complete before one more is. The number of hosts in progress is limited by memory and
// open files.
type Window struct {
	bounds Bounds
	logins int
	hosts  int
	lag    time.Duration // of late
	took   time.Duration // the way in takes, of late
	best   time.Duration // it has taken
	in     int           // hosts that are
	full   bool          // there were too many once
	calm   int           // samples until logins may shrink again: what that has done shows late
}

// Bounds are the limits of a window. 0 means no limit.
type Bounds struct {
	Hosts  int   // hosts in progress at once, set by the user
	Files  int   // open files for hosts
	Memory int64 // memory of this process, in bytes
}

// A Sample has the measurements since the last one.
type Sample struct {
	Lag       time.Duration // how long what could run has waited for a processor
	Exhausted bool          // a host was not dialled for want of open files, ports or buffers
	Memory    int64         // in use, in bytes
	Load
}

// A Load is the hosts of a queue.
type Load struct {
	LoggingIn int           // hosts that are logging in
	Working   int           // hosts in progress, including these
	Waiting   int           // hosts that have not begun
	In        int           // completed logins since the last load
	Took      time.Duration // total time of these logins
}

const (
	// Interval is the time between two samples.
	Interval = 10 * time.Millisecond

	firstLogins = 64                     // before anything is known
	leastLogins = 8                      // however busy this machine is with something else
	leastHosts  = 16                     // limit even with little memory
	noLag       = 25 * time.Millisecond  // about the time of a round trip to a host
	muchLag     = 100 * time.Millisecond // still far from any deadline
	someTime    = 100 * time.Millisecond // usual difference between logins
	longTime    = 4 * time.Second        // not far from the deadline of a handshake
	calmSamples = 20                     // a few round trips
	fewIn       = 16                     // hosts, which say nothing about others
)

// NewWindow is the window that a run begins with.
func NewWindow(b Bounds) *Window {
	w := &Window{bounds: b, logins: firstLogins}
	w.hosts = w.most()
	return w
}

// Logins returns the number of hosts that may log in at once.
func (w *Window) Logins() int { return min(w.logins, w.hosts) }

// Hosts returns the number of hosts that may be in progress.
func (w *Window) Hosts() int { return w.hosts }

// Observe adjusts the window until the next sample.
func (w *Window) Observe(s Sample) {
	w.time(s.Load)
	w.lag = (7*w.lag + s.Lag) / 8
	w.calm = max(0, w.calm-1)
	switch {
	case w.calm == 0 && w.lag >= muchLag:
		w.shrink(s, leastLogins)
	case w.calm == 0 && w.took >= longTime: // be it because of us or not
		w.shrink(s, firstLogins)
	case w.lag < noLag && s.LoggingIn >= w.logins && s.Waiting > 0 && w.took <= 2*w.best+someTime:
		w.grow(s.In)
	}
	if s.Exhausted { // for the rest of the run
		w.bounds.Files = max(1, min(w.most(), s.Working)*3/4)
	}
	w.hosts = w.most()
	switch {
	case w.bounds.Memory > 0 && s.Memory > w.bounds.Memory:
		w.hosts = min(w.hosts, max(leastHosts, s.Working*7/8))
	case w.lag >= noLag: // hosts in progress use the processors, too
		w.hosts = min(w.hosts, max(leastHosts, s.Working))
	}
}

// time notes how long the way in takes.
func (w *Window) time(l Load) {
	if l.In == 0 {
		return
	}
	took := l.Took / time.Duration(l.In)
	if w.took > 0 {
		took = (3*w.took + took) / 4
	}
	w.took = took
	if w.in += l.In; w.best == 0 || w.in < fewIn || took < w.best {
		w.best = took
	}
}

func (w *Window) shrink(s Sample, least int) {
	w.logins = min(w.logins, max(least, min(w.logins, s.LoggingIn)*3/4))
	w.full, w.calm = true, calmSamples
}

func (w *Window) grow(in int) {
	if w.full {
		w.logins += (in + 1) / 2
	} else {
		w.logins += 2 * in
	}
}

// most returns the number of hosts that the memory allows.
func (w *Window) most() int {
	n := noBound
	for _, bound := range []int{w.bounds.Hosts, w.bounds.Files} {
		if bound > 0 {
			n = min(n, bound)
		}
	}
	return n
}

const noBound = 1 << 30
