package record

import (
	"slices"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// rollout follows that of a play, for a run that goes on with it.
func (t *tracker) rollout(e events.Event) {
	switch e := e.(type) {
	case events.RolloutPlan:
		r := t.rolloutOf(e.Number)
		if r == nil || len(r.Batches) > 0 { // a run that goes on with another keeps its batches
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
		if !e.Touched { // it has ended well, or is as it was
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

func add(names *[]string, name string) {
	if !slices.Contains(*names, name) {
		*names = append(*names, name)
	}
}
