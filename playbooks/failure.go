package playbooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
)

// A phaseError is the failure of a host as a whole, with the phase of its
// host_failed event and, once it had a catalog, the entries without a result.
type phaseError struct {
	phase string
	err   error
	rest  events.Rest
}

func (e *phaseError) Error() string { return e.err.Error() }
func (e *phaseError) Unwrap() error { return e.err }

// unreported names the next resource of a lost host: its outcome is unknown.
func unreported(r events.Rest) string {
	switch r.NotReached {
	case 0:
		return "every resource had been reported"
	case 1:
		return fmt.Sprintf("nothing is known of %s, the last resource", r.Next)
	}
	return fmt.Sprintf("nothing is known of %s and what follows it: %d resources", r.Next, r.NotReached)
}

// phaseLost is the phase of a host whose connection or program has ended during the run.
const phaseLost = "lost"

// phaseOf names the phase of an error that ended a catalog.
func phaseOf(err error) string {
	if refused, ok := errors.AsType[session.Refused](err); ok {
		return refused.Phase
	}
	if _, ok := errors.AsType[session.Breach](err); ok {
		return "protocol"
	}
	if _, ok := errors.AsType[*session.Late](err); ok {
		return "deadline"
	}
	return phaseLost
}

// phased returns the error that ended a catalog, with its phase; rest has the missing results.
func phased(err error, rest events.Rest) error {
	if between, ok := errors.AsType[*phaseError](err); ok { // of two stages
		return &phaseError{between.phase, between.err, rest}
	}
	phase := phaseOf(err)
	late, isLate := errors.AsType[*session.Late](err)
	switch {
	case phase == phaseLost && errors.Is(err, context.Canceled):
		err = errors.New("killed before it could report its result; " + unreported(rest))
	case phase == phaseLost, phase == "deadline" && isLate && !late.Answered:
		err = fmt.Errorf("%w; %s", err, unreported(rest))
	}
	return &phaseError{phase, err, rest}
}

// unreachable reports whether a host could not be reached, as seen here or as a worker has reported.
func unreachable(err error) bool {
	if told, ok := errors.AsType[*toldFailure](err); ok {
		_, is := told.event.(events.Unreachable)
		return is
	}
	return transport.Unreachable(err)
}

// failure is the event for the error of a host.
func failure(play, host string, err error) events.Event {
	if told, ok := errors.AsType[*toldFailure](err); ok {
		return told.event
	}
	text, hint := err.Error(), ""
	var he *transport.HostError
	if errors.As(err, &he) {
		text, hint = he.Cause(), he.Hint
		if transport.Unreachable(err) {
			u := events.Unreachable{Play: play, Host: host, Error: text, Hint: hint, Reason: reasonOf(err), UnknownKey: errors.Is(err, transport.ErrHostKeyUnknown)}
			if he.Via != nil {
				u.Via = he.Via.Host
			}
			return u
		}
	}
	phase := "start"
	var rest events.Rest
	var pe *phaseError
	switch {
	case errors.As(err, &pe):
		phase, rest = pe.phase, pe.rest
		if refused, _ := errors.AsType[session.Refused](err); refused.Own {
			hint = "another host of this inventory has the same machine and user, and this run uses both hosts: remove one host, or exclude one with --limit"
		} else if refused.Locked {
			hint = "to wait for the other run, pass --lock-timeout 10m"
		}
	case he != nil && (he.Op == "become" || he.Op == "install"):
		phase = he.Op
	}
	failed := events.HostFailed{Play: play, Host: host, Phase: phase, Reason: reasonOf(err), Error: text, Hint: hint, Rest: rest}
	if phase == "compile" {
		failed.Cause = err
	}
	return failed
}
