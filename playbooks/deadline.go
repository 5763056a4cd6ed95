package playbooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/transport"
)

// NoDeadline is longer than any run.
const NoDeadline = time.Duration(math.MaxInt64)

// Deadlines bound the phases of working on a host, but for those of getting in,
// which are [transport.Limits]. 0 means the default, [NoDeadline] no limit.
type Deadlines struct {
	// Start is how long the host program may take until it has greeted, which
	// includes the facts; 0 means 30s, and for escalation 2m until it asks and 2m once
	// it has the password. Sending it does not count, but must move.
	Start time.Duration
	// Facts is how long each collector may take on the host; 0 means 2s. What is not
	// there by then is missing, and said to be.
	Facts time.Duration
	// Resource is how long it may take from one result to the next; 0 means 1h. What
	// is sent to the host in between starts it anew, and so does the end of a wait for
	// other hosts: see [waits].
	Resource time.Duration
	// Host is how long one play may take on a host, connecting included and waiting for
	// other hosts not; 0 means 4h.
	Host time.Duration
}

const (
	defaultStartTime    = 30 * time.Second
	defaultResourceTime = time.Hour
	defaultHostTime     = 4 * time.Hour
)

// start is the time until the greeting: the facts are in it.
func (d Deadlines) start() time.Duration {
	start := cmp.Or(d.Start, defaultStartTime)
	if d.Facts > NoDeadline-start {
		return NoDeadline
	}
	return start + d.Facts
}

// escalated has a start that was given bound escalation as well, in which 2 minutes
// to ask, and as many once there is the password, are else allowed.
func (d Deadlines) escalated(b *transport.Become) *transport.Become {
	if b == nil || d.Start == 0 {
		return b
	}
	bounded := *b
	bounded.Timeout = d.start()
	return &bounded
}

// wanted is the argument of the host program that names the collectors and, unless
// it is the default, how many milliseconds each may take.
func (d Deadlines) wanted(collectors []string) string {
	switch {
	case len(collectors) == 0:
		return "-"
	case d.Facts == 0:
		return strings.Join(collectors, ",")
	}
	return fmt.Sprintf("%s@%d", strings.Join(collectors, ","), max(1, min(d.Facts, maxFactsTime).Milliseconds()))
}

// maxFactsTime is no limit for a collector.
const maxFactsTime = 24 * time.Hour

// A deadlineError is what has taken too long.
type deadlineError struct {
	what     string
	limit    time.Duration
	answered bool // the host has said how far it got
}

func (e *deadlineError) Error() string {
	return fmt.Sprintf("%s took longer than %s", e.what, brief(e.limit))
}

// brief writes 1h0m0s as 1h.
func brief(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(text) - len(zero); n > 0 && text[n:] == zero {
			text = text[:n+1]
		}
	}
	return text
}

// hostTime gives a context that ends when a host has had its time for a play.
func (r *Runner) hostTime(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(r.Options.Deadlines.Host, defaultHostTime)
	return context.WithTimeoutCause(ctx, limit, &deadlineError{what: "the host", limit: limit})
}

// overdue gives the deadline that has ended a context, if one has.
func overdue(ctx context.Context) *deadlineError {
	late, _ := errors.AsType[*deadlineError](context.Cause(ctx))
	return late
}

// late makes what the end of a host's time has led to a failure that says so. A
// host that was not even reached stays unreachable, and its error gives the cause.
func late(ctx context.Context, err error) error {
	cause := overdue(ctx)
	if err == nil || cause == nil || transport.Unreachable(err) {
		return err
	}
	phase := ""
	if he, ok := errors.AsType[*transport.HostError](err); ok {
		phase = he.Op
	}
	if pe, ok := errors.AsType[*phaseError](err); ok {
		if pe.phase == "deadline" {
			return err
		}
		phase = pe.phase
	}
	if phase == "" {
		return &phaseError{phase: "deadline", err: cause}
	}
	return &phaseError{phase: "deadline", err: fmt.Errorf("%w; it was at: %s", cause, phase)}
}

// A resourceWatch notices that a host has told no result for too long. The zero
// value never does.
type resourceWatch struct {
	limit time.Duration
	timer *time.Timer
	since time.Time
	sent  *atomic.Int64 // when a part of a content was last sent, in nanoseconds since 1970
	waits *waits        // while it waits for other hosts, nothing is late
}

// watch begins with the first resource of a catalog, for which the host may have to
// wait for its lock.
func (s *session) watch(lock *modules.Lock) *resourceWatch {
	w := &resourceWatch{limit: s.resourceTime, sent: &s.sent, waits: &s.waits}
	if w.limit == 0 || w.limit == NoDeadline {
		return &resourceWatch{}
	}
	first := w.limit
	if lock != nil {
		first += lock.Wait
	}
	w.since = time.Now().Add(first - w.limit)
	w.timer = time.NewTimer(first)
	return w
}

// fired is ready when the time may be over.
func (w *resourceWatch) fired() <-chan time.Time {
	if w.timer == nil {
		return nil
	}
	return w.timer.C
}

// told notes that there was a result.
func (w *resourceWatch) told() {
	if w.timer != nil {
		w.since = time.Now()
		w.timer.Reset(w.limit)
	}
}

// over reports whether the time is over. If not, it is counted on.
func (w *resourceWatch) over() bool {
	since := w.since
	if sent := time.Unix(0, w.sent.Load()); sent.After(since) {
		since = sent
	}
	_, idle, woke := w.waits.idle()
	if woke.After(since) {
		since = woke
	}
	left := time.Until(since.Add(w.limit))
	if idle {
		left = w.limit
	}
	if left > 0 {
		w.timer.Reset(left)
	}
	return left <= 0
}

func (w *resourceWatch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// late is the deadline that the first resource without a result has missed.
func (a *answers) late(limit time.Duration) *deadlineError {
	entries := a.compiled.Catalog.Entries
	for i, seen := range a.seen {
		if !seen {
			return &deadlineError{what: entries[i].Ref(), limit: limit}
		}
	}
	return &deadlineError{what: "the end of the catalog", limit: limit}
}
