package dial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// Failures that may pass are dialled again, with a wait that doubles each time. Decisions of a host are final: a
// refused key or password, a wrong host key. No retry may lock an account.
//
// An sshd with too many logins in progress (sshd_config, MaxStartups) closes further connections before it sends its
// version: old versions without a message, newer ones with the name of the setting. A bastion may close connections of
// a fleet in this way. It has room again when some logins are finished.
const (
	defaultRetries   = 2
	crowdedRetries   = 5                      // at least, for a host that has no room
	firstRetryWait   = 100 * time.Millisecond // doubled each time, give or take a half
	longestRetryWait = 10 * time.Second
)

// A transient failure may pass: it is dialled again.
type transient struct {
	error
	kind transientKind
}

func (t transient) Unwrap() error { return t.error }

type transientKind int

const (
	quick     transientKind = iota // refused, reset: known at once
	slow                           // waited for
	crowded                        // the host has no room for one more login
	exhausted                      // this machine has no room for one more connection
)

// retry dials until it succeeds, fails for good, or has failed often enough.
func (d *Dialer) retry(ctx context.Context, t transport.Target, dial func() (*transport.Client, error)) (*transport.Client, error) {
	wait := firstRetryWait
	for n := 1; ; n++ {
		c, err := dial()
		p, ok := errors.AsType[transient](err)
		if !ok {
			return c, err
		}
		switch {
		case p.kind == crowded:
			d.files().startups.crowded(startupKey(t))
		case p.kind == exhausted && d.Exhausted != nil:
			d.Exhausted()
		}
		if n > d.retries(t, p.kind) || !sleep(ctx, wait/2+rand.N(wait)) {
			return nil, d.tries(t, p, n)
		}
		wait = min(2*wait, longestRetryWait)
	}
}

// retries returns the number of further dials for a kind of failure.
func (d *Dialer) retries(t transport.Target, kind transientKind) int {
	n, asked := t.Retries, t.Retries != 0
	if !asked {
		n, asked = d.Retries, d.Retries != 0
	}
	switch {
	case (kind == crowded || kind == exhausted) && n >= 0:
		return max(n, crowdedRetries)
	case asked:
		return max(n, 0)
	case kind == quick:
		return defaultRetries
	}
	return 0
}

// tries adds the number of dials to the error, unless it is the usual one.
func (d *Dialer) tries(t transport.Target, p transient, n int) error {
	if e, ok := errors.AsType[*transport.HostError](p.error); ok && n > 1 && (p.kind == crowded || p.kind == exhausted || t.Retries > 0 || d.Retries > 0) {
		e.Err = fmt.Errorf("%w (%d times in a row)", e.Err, n)
	}
	return p.error
}

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// transient marks the failure of an attempt if it may pass. err is its cause.
func (a *attempt) transient(ctx context.Context, err, final error) error {
	if a.hostKey.Load() != nil {
		return final
	}
	op, timedOut := a.phases.current(), errors.Is(final, transport.ErrTimeout)
	switch {
	case op == transport.OpAuthenticate:
		return final
	case timedOut:
		return transient{final, slow}
	case ctx.Err() != nil: // the run is over
		return final
	case op == transport.OpDial:
		return transientDial(err, final)
	case !transport.IsHangUp(err):
		return final
	}
	switch said := a.banner.beforeVersion(); {
	case a.proxy() != nil: // its command has ended, for whatever reason
		return transient{final, slow}
	case a.banner.silent(), strings.Contains(said, "MaxStartups"):
		return transient{final, crowded}
	case said == "": // it has said its version
		return transient{final, slow}
	}
	return final
}

// transientDial knows which failures to dial may pass.
func transientDial(err, final error) error {
	dns, isDNS := errors.AsType[*net.DNSError](err)
	rejected, isRejected := errors.AsType[*ssh.OpenChannelError](err)
	switch {
	case errors.Is(err, transport.ErrLost): // of the connection to the jump host
		return transient{final, quick}
	case isDNS && dns.IsNotFound:
		return final
	case isDNS && dns.IsTemporary && !dns.IsTimeout:
		return transient{final, quick}
	case isDNS:
		return transient{final, slow}
	case isRejected && rejected.Reason != ssh.ConnectionFailed:
		return final
	case isRejected:
		return transient{final, slow}
	}
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, errno) {
			return transient{final, exhausted}
		}
	}
	for _, errno := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ENETUNREACH} {
		if errors.Is(err, errno) {
			return transient{final, quick}
		}
	}
	for _, errno := range []error{syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN} {
		if errors.Is(err, errno) {
			return transient{final, slow}
		}
	}
	return final
}
