package playbooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/start"
)

// NoDeadline is longer than any run.
const NoDeadline = session.NoDeadline

// Deadlines limit the phases of a host. [transport.Limits] limits the phases of connecting. 0 means the default,
// [NoDeadline] no limit.
type Deadlines struct {
	// Start limits the time until the host program has greeted, which includes the facts. 0 means 30s; an escalation
	// then has 2m until its prompt and 2m after the password. Sending the program does not count, but must make
	// progress.
	Start time.Duration
	// Facts limits each collector on the host; 0 means 2s. Later facts are missing, and reported as missing.
	Facts time.Duration
	// Resource limits the time between two results; 0 means 1h. Data that are sent to the host restart it, and so does
	// the end of a wait for other hosts.
	Resource time.Duration
	// Host limits one play on a host, including connecting and without waits for other hosts; 0 means 4h.
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

// host is the time for a play.
func (d Deadlines) host() time.Duration { return cmp.Or(d.Host, defaultHostTime) }

// escalated limits an escalation by Start, if that is set. Otherwise it has 2 minutes until its prompt, and 2 more
// after the password.
func (d Deadlines) escalated(b *start.Become) *start.Become {
	if b == nil || d.Start == 0 {
		return b
	}
	bounded := *b
	bounded.Timeout = d.start()
	return &bounded
}

// wanted is the argument of the host program that names the collectors and, unless they are
// the defaults, how many milliseconds each may take (host@1500) and the controller may be
// silent (host:5000).
func (o *Options) wanted(collectors []string) string {
	arg := o.Deadlines.wanted(collectors)
	if o.IdleTimeout == 0 || o.IdleTimeout == wire.IdleTimeout {
		return arg
	}
	return fmt.Sprintf("%s:%d", arg, o.IdleTimeout.Milliseconds())
}

// wanted is the part of the argument that is about the collectors.
func (d Deadlines) wanted(collectors []string) string {
	switch {
	case len(collectors) == 0:
		return "-"
	case d.Facts == 0:
		return strings.Join(collectors, ",")
	}
	return fmt.Sprintf("%s@%d", strings.Join(collectors, ","), max(1, min(d.Facts, maxFactsTime).Milliseconds()))
}

// maxFactsTime does not limit a collector.
const maxFactsTime = 24 * time.Hour

// hostTime returns a context that ends when a host has used its time for a play.
func (r *Runner) hostTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return withLimit(ctx, r.Options.Deadlines.host())
}

// withLimit returns a context that ends when a host has used its time.
func withLimit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, &session.Late{What: "the host", Limit: d})
}

// late replaces an error that the end of a host's time has caused by one that names this cause. A host that was not
// reached stays unreachable, and its error has the cause.
func late(ctx context.Context, err error) error {
	cause := session.Overdue(ctx)
	if err == nil || cause == nil || transport.Unreachable(err) {
		return err
	}
	phase := ""
	if he, ok := errors.AsType[*transport.HostError](err); ok {
		phase = he.Op
	}
	if pe, ok := errors.AsType[*phaseError](err); ok {
		if pe.phase == "deadline" || pe.phase == "soak" { // its text has the cause
			return err
		}
		phase = pe.phase
	}
	if phase == "" {
		return &phaseError{phase: "deadline", err: cause}
	}
	return &phaseError{phase: "deadline", err: fmt.Errorf("%w; phase: %s", cause, phase)}
}
