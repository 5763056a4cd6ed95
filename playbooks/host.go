package playbooks

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/activity"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/confirm"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/transport"
)

// hostState is one host during a run. Between plays it may keep its connection
// and one host program per user that the program runs as.
type hostState struct {
	host       *inventory.Host
	plays      []*selection      // plays still to come, the current one first
	ends       []events.PlayEnd  // ends of the plays before those
	now        atomic.Int32      // the phase, see [hostState.phase]
	bugs       func(text string) // receives transitions that may not happen; nil panics
	leftover   bool              // a host program of this run may still run there: its connection, or its worker, was lost
	left       []Left            // resources that an undo left, at a worker
	times      hostTimes
	limit      time.Duration         // limit that a rollout sets; 0 means none
	conn       *inventory.Connection // inventory's settings; nil before the first use
	login      string                // login user; empty before the first use
	client     *transport.Client
	programs   map[string]*hostProgram // host programs, by user
	predicted  []*hostProgram          // programs that have predicted a change, in a check run
	compiled   *catalog.Compiled       // catalog of the next play, if it was compiled ahead
	in         *share.WayIn            // place while it enters the play; nil means not counted
	activity   *activity.Host          // current step, for the display
	controller bool                    // the controller itself, for a resource that runs on it
	guard      *confirm.Guard          // guard of the current play; nil if nothing has to be confirmed
	over       *transport.Target       // address to dial after its way in has changed; nil means the inventory's
	refused    error                   // why it could not be reached for a resource of another host
	kept       []*wire.Once            // results for other hosts that it has not yet been ordered to drop
}

// hostTimes are the times that a host has spent in a run.
type hostTimes struct {
	elapsed time.Duration // time in plays
	queued  time.Duration // time that its last play has waited for a worker
	idle    time.Duration // time that the host has waited, at a worker, until other hosts were compiled
	phases  events.Phases // sums of the steps
	steps   []events.Step
}

// newState returns the state of a host that a run takes through plays.
func newState(h *inventory.Host, bugs func(text string), a *activity.Host) *hostState {
	return &hostState{host: h, bugs: bugs, activity: a}
}

// close gives up the host. It closes the connection first: only that ends a write to a host that reads nothing.
func (s *hostState) close() {
	if s.client != nil {
		s.client.Close()
	}
	for _, one := range s.programs {
		one.session.Close()
	}
	s.client, s.programs, s.conn = nil, nil, nil
}

// finishPrograms ends the host programs that are kept for later plays, which start others.
func (s *hostState) finishPrograms(ctx context.Context) error {
	for user, one := range s.programs {
		if err := one.session.Finish(ctx); err != nil {
			return err
		}
		delete(s.programs, user)
	}
	return nil
}

// dead reports whether the kept connection of an earlier play has ended meanwhile.
func (s *hostState) dead() bool {
	if s.client == nil {
		return false
	}
	select {
	case <-s.client.Done():
		return true
	default:
	}
	for _, one := range s.programs {
		select {
		case <-one.session.Over():
			return true
		default:
		}
	}
	return false
}

// step records a completed phase, and returns its duration. A query of a host belongs to no play.
func (s *hostState) step(name string, began, ended time.Time) time.Duration {
	one := events.Step{Phase: name, Began: began, Took: ended.Sub(began)}
	if len(s.plays) > 0 {
		one.Play = s.plays[0].number + 1
	}
	s.times.steps = append(s.times.steps, one)
	return one.Took
}

// errStopped reports that a host is not processed any more because the run was interrupted.
var errStopped = errors.New("the run was interrupted")

// A stoppedError is errStopped with the missing results.
type stoppedError struct {
	rest  events.Rest
	phase string // phase of a rollout, such as soak; empty means none
}

func (*stoppedError) Error() string { return errStopped.Error() }
func (*stoppedError) Unwrap() error { return errStopped }
