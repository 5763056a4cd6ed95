package record

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// rollout follows the rollout of a play, for a run that resumes it.
func (t *tracker) rollout(e events.Event) {
	switch e := e.(type) {
	case events.RolloutPlan:
		r := t.rolloutOf(e.Number)
		if r == nil {
			return
		}
		for _, host := range e.Unreachable {
			add(&r.Unreachable, host)
		}
		for _, host := range e.Failed {
			add(&r.Failed, host)
		}
		if len(r.Batches) > 0 { // a resuming run keeps the batches of the resumed one
			return
		}
		for _, b := range e.Batches {
			r.Batches = append(r.Batches, b.Hosts)
		}
	case events.Gate:
		if r := t.rolloutOf(e.Number); r != nil && e.Counts {
			r.Gates = append(r.Gates, e.Name)
		}
	case events.HostRolling:
		if r := t.rolloutOf(e.Number); r != nil {
			r.Left[e.Host] = true
		}
	case events.HostRolled:
		r := t.rolloutOf(e.Number)
		if r == nil {
			return
		}
		switch {
		case e.Unreachable:
			add(&r.Unreachable, e.Host)
		case e.Failed:
			add(&r.Failed, e.Host)
		}
		if !e.Touched { // it has ended well, or is unchanged
			delete(r.Left, e.Host)
		}
		if e.Restarted {
			add(&r.Restarted, e.Host)
		}
	}
}

func (t *tracker) rolloutOf(number int) *rollout.Past {
	if number < 1 || number > len(t.progress.Plays) {
		return nil
	}
	play := &t.progress.Plays[number-1]
	if play.Rollout == nil {
		play.Rollout = &rollout.Past{Left: map[string]bool{}}
	}
	return play.Rollout
}

// ErrNoRollout means that no play of a run has begun a rollout.
var ErrNoRollout = errors.New("no play of it has begun a rollout")

// Rollout returns how far the last rollout of the run got, as far as that is recorded. The error wraps [ErrNoRollout]
// if there was none.
func (r *Run) Rollout() (*rollout.Status, error) {
	var s *rollout.Status
	for e, err := range r.Events() {
		if err != nil {
			return nil, err
		}
		if plan, ok := e.(events.RolloutPlan); ok {
			s = r.planned(plan)
		}
		if s != nil {
			follow(s, e)
		}
	}
	if s == nil || r.Check {
		return nil, fmt.Errorf("run %s: %w", r.Header.Run, ErrNoRollout)
	}
	return s, nil
}

func (r *Run) planned(e events.RolloutPlan) *rollout.Status {
	s := &rollout.Status{
		Run: r.Header.Run, Play: e.Play, State: rollout.Ended, Batches: len(e.Batches), Stable: len(e.Stable),
		Failed: slices.Clone(e.Failed), Unreachable: slices.Clone(e.Unreachable),
	}
	if e.Number >= 1 && e.Number <= len(r.Plays) {
		s.Hosts = len(r.Plays[e.Number-1].Hosts)
	}
	for _, b := range e.Batches {
		s.ToChange += len(b.Hosts)
	}
	s.Waiting = s.ToChange
	for _, host := range e.Unreachable {
		s.Held = append(s.Held, rollout.Held{Host: host, Why: "could not be reached before the rollout"})
	}
	for _, host := range e.Broken {
		s.Held = append(s.Held, rollout.Held{Host: host, Why: "was not healthy before the rollout"})
	}
	return s
}

// follow updates a status with an event.
func follow(s *rollout.Status, e events.Event) {
	freed := func(host string) {
		s.Held = slices.DeleteFunc(s.Held, func(h rollout.Held) bool { return h.Host == host })
	}
	switch e := e.(type) {
	case events.PlayStart:
		if e.Play == s.Play {
			s.Batch = e.Batch
		}
	case events.HostRolling:
		freed(e.Host)
		s.AtWork, s.Waiting = append(s.AtWork, e.Host), s.Waiting-1
	case events.HostRolled:
		s.AtWork = slices.DeleteFunc(s.AtWork, func(host string) bool { return host == e.Host })
		switch {
		case e.Unreachable:
			add(&s.Unreachable, e.Host)
			s.Held = append(s.Held, rollout.Held{Host: e.Host, Why: "was lost"})
		case e.Failed:
			add(&s.Failed, e.Host)
			if e.Touched {
				s.Held = append(s.Held, rollout.Held{Host: e.Host, Why: "has failed"})
			}
		default:
			s.Done++
		}
		if e.Restarted {
			s.Restarted++
		}
	case events.RolloutStop:
		s.Since = e.Time
		s.Stop = &rollout.Stop{Rule: e.Rule, Text: e.Text, Hosts: e.Hosts, Batch: e.Batch}
	case events.RolloutSaid:
		switch rollout.Verb(e.Verb) {
		case rollout.Go:
			s.Stop = nil
		case rollout.ReleaseHost:
			freed(e.Host)
		}
	case events.Summary:
		s.Since = e.Time
	}
}

func add(names *[]string, name string) {
	if !slices.Contains(*names, name) {
		*names = append(*names, name)
	}
}
