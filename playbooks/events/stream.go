package events

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// A Reporter takes the events of a run, one at a time. One that has a method
// ReportAll is given together what happened together.
type Reporter interface {
	Report(Event)
}

// A Stream hands events to reporters. Any number of goroutines may report to it;
// the reporters see one event at a time, and those of one goroutine in its
// order.
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

// NewStream makes the stream of one run. Events without a stamp get this run id
// and the time that now gives.
func NewStream(run string, now func() time.Time, reporters ...Reporter) *Stream {
	return &Stream{run: run, now: now, reporters: reporters}
}

// WithMask takes out of all events that are reported from now on what the mask knows.
func (s *Stream) WithMask(m Mask) *Stream {
	s.mask = m
	return s
}

// Report hands events to every reporter, those that stand together in one call
// one after the other. It completes them in place.
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

// Sync has reporters that delay what they write do so now. Those with a method Settle take a while for
// that, in which others may report. kept is false if one of them could not.
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

// fill completes the stamp. It is called under the lock, so that the times of a
// stream never go back. They are whole milliseconds, as JSON has them: what is made of
// a run is the same as what is made of its record.
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

// Err joins the errors of those reporters that have an Err method: what they
// could not write.
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
