package playbooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// A Turn is a play of a host that a worker takes it through.
type Turn struct {
	Host  string `json:"host"`
	Play  int    `json:"play"`            // its number in the run, from 0
	Later []int  `json:"later,omitempty"` // plays that are still to come for the host
	// Predicted says, in a check run, that an earlier play would have changed the host.
	Predicted bool `json:"predicted,omitempty"`
	// Follow has what commands write told as they write it.
	Follow bool `json:"follow,omitempty"`
	// Again says that the worker was lost that had the turn before.
	Again bool `json:"again,omitempty"`
}

// A TurnEnd is how a turn has ended. The zero value is a host that came through well.
type TurnEnd struct {
	Begun     bool `json:"begun,omitempty"`     // something was, or may have been, begun there
	Failed    bool `json:"failed,omitempty"`    // a resource has
	Predicted bool `json:"predicted,omitempty"` // in a check run, something would change
	// Stopped says that the run was stopped before the host was done, and Rest what is missing then.
	// Killed says that it was ended by force.
	Stopped bool        `json:"stopped,omitempty"`
	Killed  bool        `json:"killed,omitempty"`
	Rest    events.Rest `json:"rest,omitzero"`
	// Failure is what is told of a host that has failed as a whole; nil of any other.
	Failure *events.Carried `json:"failure,omitempty"`
	// Took is for how long the host was worked on.
	Took   time.Duration `json:"took,omitempty"`
	Phases events.Phases `json:"phases,omitzero"`
	Steps  []events.Step `json:"steps,omitempty"`
}

// Turns takes hosts through a play for a run that others decide about and tell of; all turns are of
// one play. ended is told how each has ended, by several goroutines at once. The error is that
// no host can be taken through the play.
func (r *Runner) Turns(ctx context.Context, stop <-chan struct{}, turns []Turn, ended func(host string, end TurnEnd)) error {
	values, err := r.inventoryValues(nil)
	if err != nil {
		return err
	}
	downloads := catalog.NewDownloads()
	defer downloads.Close()
	compilers, err := r.compilers(ctx, r.compiling(downloads), values)
	defer closeCompilers(compilers)
	if err != nil {
		return err
	}
	f := &fleet{runner: r, stop: stop, states: map[string]*hostState{}, followed: map[string]bool{}, apart: true}
	f.sessions, f.once = share.NewSessions(&f.waits), share.NewOnce(&f.waits)
	defer f.close()
	plays := make([]*selection, len(r.Plays))
	for i, play := range r.Plays {
		plays[i] = &selection{number: i, play: play, compiler: compilers[i], values: values[i], refs: play.LiteralRefs}
	}
	var hosts []string
	for _, t := range turns {
		if err := f.expectTurn(t, plays); err != nil {
			return err
		}
		hosts = append(hosts, t.Host)
	}
	begin := func(host string, in *share.WayIn) {
		state := f.states[host]
		state.in = in
		ended(host, f.turn(ctx, state))
	}
	q := share.NewQueue(hosts, begin, func() bool { return f.interrupted(ctx) })
	f.sessions.Begin(hosts, q.StartNow)
	f.once.Begin(hosts, false, q.StartNow)
	r.fly(q)
	return nil
}

// expectTurn notes the plays of a host, the one of its turn first.
func (f *fleet) expectTurn(t Turn, plays []*selection) error {
	host := f.runner.Inventory.Host(t.Host)
	if host == nil {
		return fmt.Errorf("there is no host %q here", t.Host)
	}
	state := &hostState{host: host, activity: f.runner.Activity.Host(host.Name), again: t.Again}
	for _, number := range append([]int{t.Play}, t.Later...) {
		if number < 0 || number >= len(plays) {
			return fmt.Errorf("the host %q has a play %d, of %d", t.Host, number+1, len(plays))
		}
		state.plays = append(state.plays, plays[number])
	}
	if t.Predicted {
		state.predicted = []*hostProgram{{}}
	}
	f.states[t.Host], f.followed[t.Host] = state, t.Follow
	return nil
}

// turn takes a host through the first of its plays.
func (f *fleet) turn(ctx context.Context, state *hostState) TurnEnd {
	defer f.sessions.End(state.host.Name)
	s, start, before := state.plays[0], f.runner.Now(), len(state.predicted)
	f.take(state)
	err := f.playOn(ctx, s, state)
	state.close()
	end := TurnEnd{
		Begun: state.begun, Failed: state.failed, Predicted: len(state.predicted) > before,
		Took: f.runner.Now().Sub(start), Phases: state.phases, Steps: state.steps,
	}
	stopped, isStopped := errors.AsType[*stoppedError](err)
	switch {
	case err == nil:
	case isStopped:
		end.Stopped, end.Rest = true, stopped.rest
	default:
		end.Killed = f.interrupted(ctx) && errors.Is(err, context.Canceled)
		end.Failure = &events.Carried{Event: failure(s.play.Name, state.host.Name, err)}
	}
	return end
}
