package dial

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/transport"
)

// defaultLimits leave a person the time to confirm a signature; sshd itself gives up after
// two minutes (sshd_config, LoginGraceTime).
var defaultLimits = transport.Limits{Dial: 10 * time.Second, Handshake: 10 * time.Second, Auth: 60 * time.Second, Sign: 60 * time.Second}

// limits returns the limits of t. An unset limit is the limit of d, or else the default.
func (d *Dialer) limits(t transport.Target) transport.Limits {
	own, all := t.Limits, d.Limits
	return transport.Limits{
		Dial:      cmp.Or(own.Dial, all.Dial, defaultLimits.Dial),
		Handshake: cmp.Or(own.Handshake, all.Handshake, defaultLimits.Handshake),
		Auth:      cmp.Or(own.Auth, all.Auth, defaultLimits.Auth),
		Sign:      cmp.Or(own.Sign, all.Sign, defaultLimits.Sign),
	}
}

// phases follows the phases of an attempt: dial, handshake, authenticate.
type phases struct {
	cancel context.CancelCauseFunc
	limits transport.Limits
	told   func(op string) // receives each phase; nil disables it

	mu    sync.Mutex
	op    string
	began int // number of timers started: a late timer of an earlier phase is ignored
	timer *time.Timer
}

// withPhases begins with the dial phase. The context ends if a phase exceeds its limit. told receives each phase; it
// may be nil. The caller must end the phases.
func withPhases(ctx context.Context, l transport.Limits, told func(op string)) (context.Context, *phases) {
	p := &phases{limits: l, told: told}
	ctx, p.cancel = context.WithCancelCause(ctx)
	p.begin(transport.OpDial, l.Dial)
	return ctx, p
}

// limit returns the limit of a phase.
func (p *phases) limit(op string) time.Duration {
	switch op {
	case transport.OpDial:
		return p.limits.Dial
	case transport.OpHandshake:
		return p.limits.Handshake
	}
	return p.limits.Auth
}

// begin starts the clock of a phase, with the lock held, or not needed yet.
func (p *phases) begin(op string, limit time.Duration) {
	p.op = op
	if p.told != nil {
		p.told(op)
	}
	p.began++
	began := p.began
	p.timer = time.AfterFunc(limit, func() { p.expire(began, limit) })
}

// enter begins a phase. After the end of the context the phase stays the one that
// it ended in.
func (p *phases) enter(ctx context.Context, op string) { p.enterFor(ctx, op, p.limit(op)) }

// signing calls do while the host waits, for example for a person. Its time has a limit of its own.
func (p *phases) signing(ctx context.Context, do func()) {
	p.enterFor(ctx, transport.OpAuthenticate, p.limits.Sign)
	do()
	p.enter(ctx, transport.OpAuthenticate)
}

func (p *phases) enterFor(ctx context.Context, op string, limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	p.timer.Stop()
	p.begin(op, limit)
}

func (p *phases) expire(began int, limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began == began {
		p.cancel(fmt.Errorf("%w after %s", transport.ErrTimeout, limit))
	}
}

func (p *phases) current() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.op
}

func (p *phases) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	p.cancel(nil)
}
