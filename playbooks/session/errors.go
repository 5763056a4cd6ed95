package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// errSilent is why a session ends when the host is not heard for the idle timeout.
func errSilent(idle time.Duration) error {
	return fmt.Errorf("nothing was heard from the host for %s", printable.Duration(idle))
}

// A Breach is a host's violation of the message protocol or of a limit. The wrapped error does not mean that the
// connection has ended.
type Breach struct{ Err error }

func (b Breach) Error() string { return b.Err.Error() }

func breach(format string, args ...any) error {
	return Breach{fmt.Errorf(format, args...)}
}

// A Refused error is why the host program will not work on a catalog.
type Refused struct {
	Phase  string // phase in events: lock, protocol, facts, undo or confirm; or quiet; full: only the full host program can
	Reason string // in the words of the host
	Locked bool   // set if a run holds the lock
	Own    bool   // which is this one, under another name of the host
}

func (e Refused) Error() string { return e.Reason }

// refused returns the error of a host that refuses a catalog. lock is the requested lock.
func refused(r *wire.Refused, lock *wire.Lock) error {
	switch r.Phase {
	case "lock", "protocol", "facts", "undo", "confirm", "full", "quiet":
		locked := r.Locked && r.Phase == "lock"
		// The id of a run is in no other text; it decides only about the hint.
		return Refused{r.Phase, r.Error, locked, locked && lock != nil && strings.Contains(r.Error, "run "+lock.Run+",")}
	}
	return breach("the host refuses the catalog in the phase %.64q", r.Phase)
}

// A Late error reports an exceeded time limit.
type Late struct {
	What     string // a resource, "the host", …
	Limit    time.Duration
	Answered bool // the host has said how far it got
}

func (e *Late) Error() string {
	return fmt.Sprintf("%s took longer than %s", e.What, printable.Duration(e.Limit))
}

// Overdue returns the deadline that has ended a context, if one has.
func Overdue(ctx context.Context) *Late {
	late, _ := errors.AsType[*Late](context.Cause(ctx))
	return late
}
