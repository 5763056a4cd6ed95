package events

import (
	"sync"
	"time"
)

// likely is the grade of a prediction that is right in at least 99 of 100 cases.
const likely = "likely"

// A Tally is a reporter that counts. It holds a few numbers per host and nothing
// per resource. The zero Tally is ready for use; its methods may be called from
// any goroutine.
type Tally struct {
	mu       sync.Mutex
	check    bool
	selected int // hosts of the run
	health   HealthCounts
	hosts    map[string]*hostTally
}

type hostTally struct {
	HostSummary
	uncertain int
	likely    int
	reverted  bool
	done      bool // its HostDone has come
}

// Report counts e. The numbers come from the results alone; a [HostDone] adds only state and duration.
func (t *Tally) Report(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := e.(type) {
	case RunStart:
		t.check, t.selected = e.Check, e.Hosts
	case Result:
		if e.Repair { // the run was over before
			return
		}
		t.host(e.Host).add(e, t.check)
		for _, c := range e.HealthChecks {
			t.health.add(c.Status)
		}
	case Unreachable:
		t.host(e.Host).worsen(StateUnreachable)
	case HostFailed:
		t.host(e.Host).worsen(StateFailed)
		t.host(e.Host).NotReached += e.NotReached
	case Reverted:
		if h := t.host(e.Host); e.OfThisRun() {
			h.worsen(StateFailed)
			h.NotReached += e.NotReached
			h.reverted = true
		}
	case Interrupted:
		t.host(e.Host).worsen(StateInterrupted)
		t.host(e.Host).NotReached += e.NotReached
	case HostDone:
		h := t.host(e.Host)
		h.worsen(e.State)
		h.Duration, h.done = e.Duration, true
	}
}

func (t *Tally) host(name string) *hostTally {
	h, known := t.hosts[name]
	if !known {
		h = &hostTally{HostSummary: HostSummary{State: StateOK}}
		if t.hosts == nil {
			t.hosts = make(map[string]*hostTally)
		}
		t.hosts[name] = h
	}
	return h
}

// add counts a result; check is set in a check run.
func (h *hostTally) add(r Result, check bool) {
	switch {
	case r.Status == Stable:
		h.Stable++
	case r.Status == Changed && r.Check && !check:
		h.WouldChange++
	case r.Status == Changed:
		h.Changed++
		if r.Cause == Drift {
			h.Drift++
		}
		if r.WouldFail {
			h.WouldFail++
		}
	case r.Status == Skipped:
		h.Skipped++
	case r.Status == Failed:
		h.Failed++
		if r.Changed {
			h.FailedChanged++
		}
		if r.Killed {
			h.worsen(StateInterrupted)
		} else {
			h.worsen(StateFailed)
		}
	}
	if r.Status == Rescued {
		h.Rescued++
		if r.Changed {
			h.FailedChanged++
		}
	}
	if r.Unknown {
		h.Unknown++
	}
	if !r.Certain {
		h.uncertain++
	}
	if r.Grade == likely {
		h.likely++
	}
}

// worsen keeps the first state that is not ok: what follows it is a consequence.
func (h *hostTally) worsen(s State) {
	if h.State == StateOK && s != "" {
		h.State = s
	}
}

// HostDone returns the event for a host that has finished after d. plays has the host's final state in each of its
// plays.
func (t *Tally) HostDone(host string, d time.Duration, phases Phases, plays ...PlayEnd) HostDone {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.host(host)
	e := HostDone{Host: host, State: h.State, Counts: h.Counts, Uncertain: h.uncertain, Likely: h.likely, Plays: plays, Duration: d, Phases: phases}
	for i := range plays {
		switch play := &plays[i]; {
		case play.State == StateNotStarted:
			e.PlaysNotRun++
		case play.State == StateFailed && h.State == StateInterrupted: // its resource was killed
			play.State = StateInterrupted
		}
	}
	if e.State == StateOK && e.PlaysNotRun > 0 {
		e.State = StateIncomplete
	}
	return e
}

// Summary returns the counts so far. It has every host that had an event of its own.
func (t *Tally) Summary(interrupted bool) Summary { return t.summary(interrupted, StateOK) }

// summary returns the counts; unfinished is the state of a host without HostDone.
func (t *Tally) summary(interrupted bool, unfinished State) Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Summary{Check: t.check, Interrupted: interrupted, Hosts: make(map[string]HostSummary, len(t.hosts))}
	for name, h := range t.hosts {
		own := *h
		if !h.done {
			own.worsen(unfinished)
		}
		s.Hosts[name] = own.HostSummary
		s.Totals.add(&own)
	}
	if health := t.health; health.Sum() > 0 {
		s.Totals.Resources.HealthChecks = &health
	}
	s.Totals.Hosts.NotStarted = max(0, t.selected-len(t.hosts))
	if n := s.Totals.Resources.Sum(); s.Check && n > 0 {
		share := float64(n-s.Totals.Resources.Uncertain) / float64(n)
		s.Totals.CertainShare = &share
	}
	return s
}

// SoFar is the summary of a run that has not ended, or was killed: a host without its HostDone
// is incomplete, unless something failed there.
func (t *Tally) SoFar() Summary {
	return t.summary(false, StateIncomplete)
}

func (t *Totals) add(h *hostTally) {
	switch h.State {
	case StateOK:
		t.Hosts.OK++
	case StateFailed:
		t.Hosts.Failed++
		if h.reverted {
			t.Hosts.Reverted++
		}
	case StateUnreachable:
		t.Hosts.Unreachable++
	case StateInterrupted:
		t.Hosts.Interrupted++
	case StateIncomplete:
		t.Hosts.Incomplete++
	}
	t.Resources.Stable += h.Stable
	t.Resources.Changed += h.Changed
	t.Resources.Skipped += h.Skipped
	t.Resources.Failed += h.Failed
	t.Resources.WouldChange += h.WouldChange
	t.Resources.FailedChanged += h.FailedChanged
	t.Resources.Unknown += h.Unknown
	t.Resources.Rescued += h.Rescued
	t.Resources.Drift += h.Drift
	t.Resources.WouldFail += h.WouldFail
	t.Resources.NotReached += h.NotReached
	t.Resources.Uncertain += h.uncertain
	t.Resources.Likely += h.likely
}

// Parts of the exit status of a run that was not interrupted.
const (
	ExitFailed      = 2
	ExitUnreachable = 4
	ExitChanged     = 8
	exitReverted    = 16
	exitStopped     = 32
)

// ExitStatus returns the sum of these numbers:
//
//   - 2 if a resource or host failed, or if hosts did not get all of their plays and nothing else explains it
//   - 4 if a host was unreachable
//   - 8, only with detailed, if something changed, even if it failed after that, or would change in a check run
//   - 16 if a host has reverted changes that were not confirmed
//   - 32 if a rollout has stopped
//
// The caller sets the status of an interrupted run.
func (s Summary) ExitStatus(detailed bool) int {
	status := 0
	if s.Totals.Hosts.Failed > 0 || s.Totals.Resources.Failed > 0 {
		status += ExitFailed
	}
	if s.Totals.Hosts.Unreachable > 0 {
		status += ExitUnreachable
	}
	if r := s.Totals.Resources; detailed && r.Changed+r.FailedChanged > 0 {
		status += ExitChanged
	}
	if s.Totals.Hosts.Reverted > 0 {
		status += exitReverted
	}
	if s.RolloutStopped {
		status += exitStopped
	}
	if h := s.Totals.Hosts; h.Incomplete+h.NotStarted > 0 && status&^ExitChanged == 0 {
		status += ExitFailed
	}
	if s.Watch != nil {
		status |= s.Watch.Failed
	}
	return status
}
