package events

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// A Reporter takes the events of a run, one at a time. If it has a method ReportAll, it gets events that were reported
// together in one call.
type Reporter interface {
	Report(Event)
}

// A Stream passes events to reporters. It is safe for concurrent use; the reporters get one event at a time, and the
// events of one goroutine in its order.
type Stream struct {
	run       string
	now       func() time.Time
	mu        sync.Mutex
	reporters []Reporter
	mask      Mask
}

// A Mask takes secrets out of texts.
type Mask interface {
	Text(string) string
	None() bool // no text would be changed
}

// NewStream returns the stream of one run. Events without a stamp get this run id and the time from now.
func NewStream(run string, now func() time.Time, reporters ...Reporter) *Stream {
	return &Stream{run: run, now: now, reporters: reporters}
}

// WithMask takes out of all events that are reported from now on what the mask knows.
func (s *Stream) WithMask(m Mask) *Stream {
	s.mask = m
	return s
}

// Report passes events to every reporter, without other events between the events of one call. It completes them in
// place.
func (s *Stream) Report(all ...Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	masks := s.mask != nil && !s.mask.None()
	for i, e := range all {
		if masks {
			e = masked(e, s.mask)
		}
		e = s.fill(e)
		if r, ok := e.(Result); ok && r.Sensitive {
			e = r.withheld()
		}
		all[i] = e
	}
	for _, r := range s.reporters {
		if several, ok := r.(severalReporter); ok {
			several.ReportAll(all)
			continue
		}
		for _, e := range all {
			r.Report(e)
		}
	}
}

// A severalReporter takes events together, because that is cheaper.
type severalReporter interface{ ReportAll([]Event) }

// Sync makes reporters that delay their output write it now. Reporters with a method Settle need some time for that, in
// which other goroutines may report. kept is false if one of them failed.
func (s *Stream) Sync() (kept bool) {
	s.mu.Lock()
	var slow []interface{ Settle() error }
	for _, r := range s.reporters {
		if d, ok := r.(interface{ Sync() }); ok {
			d.Sync()
		}
		if d, ok := r.(interface{ Settle() error }); ok {
			slow = append(slow, d)
		}
	}
	s.mu.Unlock()
	kept = true
	for _, d := range slow {
		kept = d.Settle() == nil && kept
	}
	return kept
}

// fill completes the stamp. It is called under the lock, so that the times of a stream never go back. Times are whole
// milliseconds as in JSON, so that a run and its record have the same output.
func (s *Stream) fill(e Event) Event {
	st := e.stamp()
	if st.Time.IsZero() {
		st.Time = s.now().Truncate(time.Millisecond)
	}
	if st.Run == "" {
		st.Run = s.run
	}
	return e.stamped(st)
}

// Err joins the write errors of the reporters that have an Err method.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, r := range s.reporters {
		if f, ok := r.(interface{ Err() error }); ok {
			errs = append(errs, f.Err())
		}
	}
	return errors.Join(errs...)
}

// Withheld stands for both values of a change of a sensitive resource.
const Withheld = "[sensitive]"

// withheld is r without anything that could show a secret.
func (r Result) withheld() Result {
	r.Diff, r.Facts = "", nil
	changes := make([]Change, len(r.Changes))
	for i, c := range r.Changes {
		changes[i] = Change{Property: c.Property, Have: Withheld, Want: Withheld}
	}
	r.Changes = changes
	checks := slices.Clone(r.HealthChecks)
	for i := range checks {
		checks[i].Output = ""
	}
	r.HealthChecks = checks
	r.State, r.Restart = nil, nil
	if r.Command != nil {
		r.Command = &Command{ExitCode: r.Command.ExitCode}
	}
	return r
}
