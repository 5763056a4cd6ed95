package playbooks

import (
	"context"
	"errors"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/activity"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/transport"
)

// hostState is one host during a run. Between plays it may keep its connection
// and one host program per user that the program runs as.
type hostState struct {
	host   *inventory.Host
	plays  []*selection     // still to come, the current one first
	ends   []events.PlayEnd // of the plays before those
	begun  bool
	done   bool
	failed bool // it enters no further play
	// lost says that it has failed as a whole, and unreachable that this was since it could not be
	// reached.
	lost, unreachable bool
	// interrupted says that its interruption has been reported.
	interrupted bool
	held        bool   // it has a place among the kept connections
	watched     bool   // its plays are over, and it is watched: what is lost is not dialled again on the way
	again       bool   // the worker was lost that had it before
	left        []Left // of its turn, at a worker
	elapsed     time.Duration
	queued      time.Duration // of its last play, for which it waited for a worker
	idle        time.Duration // that it has waited for others to be made ready, at a worker
	limit       time.Duration // that a rollout gives it; 0 is none
	phases      events.Phases
	steps       []events.Step         // of which the phases are the sums
	conn        *inventory.Connection // what the inventory says; nil until it is asked for
	login       string                // who logs in; "" until it is asked for
	client      *transport.Client
	programs    map[string]*hostProgram // by the user that it runs as
	predicted   []*hostProgram          // in a check run: those that have predicted a change
	compiled    *catalog.Compiled       // for the play that follows, if that was made ahead
	in          *share.WayIn            // on its way in to the play; nil: nobody counts
	activity    *activity.Host          // what it is at, for those who look on
	controller  bool                    // it is the controller itself, for a resource that says so
	guard       *guard                  // of the play that it is at; nil if nothing of it is to be confirmed
	over        *transport.Target       // where it is dialled since its way in has changed; nil is as the inventory says
	refused     error                   // why it could not be reached for a resource of another host
	kept        []*wire.Once            // results for other hosts that it has not been told to forget
}

// close gives the host up. The connection goes first: only that ends a write to
// a host that reads nothing.
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

// dead reports whether what was kept from an earlier play has ended meanwhile.
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

// step notes a phase that is over, and gives its time. It is of no play where a host is only
// asked for something.
func (s *hostState) step(name string, began, ended time.Time) time.Duration {
	one := events.Step{Phase: name, Began: began, Took: ended.Sub(began)}
	if len(s.plays) > 0 {
		one.Play = s.plays[0].number + 1
	}
	s.steps = append(s.steps, one)
	return one.Took
}

// errStopped is why a host is not worked on any more: the run was interrupted.
var errStopped = errors.New("the run was interrupted")

// A stoppedError is errStopped with what was not reached.
type stoppedError struct {
	rest  events.Rest
	phase string // of a rollout, such as soak; "" is none
}

func (*stoppedError) Error() string { return errStopped.Error() }
func (*stoppedError) Unwrap() error { return errStopped }
