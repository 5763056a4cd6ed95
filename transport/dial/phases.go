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

// limits are those of t; what it leaves open is as d has it, or the default.
func (d *Dialer) limits(t transport.Target) transport.Limits {
	own, all := t.Limits, d.Limits
	return transport.Limits{
		Dial:      cmp.Or(own.Dial, all.Dial, defaultLimits.Dial),
		Handshake: cmp.Or(own.Handshake, all.Handshake, defaultLimits.Handshake),
		Auth:      cmp.Or(own.Auth, all.Auth, defaultLimits.Auth),
		Sign:      cmp.Or(own.Sign, all.Sign, defaultLimits.Sign),
	}
}

// phases is where an attempt to get in has got to: dial, handshake, authenticate.
type phases struct {
	cancel context.CancelCauseFunc
	limits transport.Limits
	told   func(op string) // nil is not told

	mu    sync.Mutex
	op    string
	began int // how many waits have begun: a timer that fires late is none of the present one's
	timer *time.Timer
}

// withPhases begins with dialling. The context ends when the phase that is under way
// takes longer than it may. told, which may be nil, is told of each. The phases must be ended.
func withPhases(ctx context.Context, l transport.Limits, told func(op string)) (context.Context, *phases) {
	p := &phases{limits: l, told: told}
	ctx, p.cancel = context.WithCancelCause(ctx)
	p.begin(transport.OpDial, l.Dial)
	return ctx, p
}

// limit is how long a phase may take.
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

// signing does something for which the host waits, and a person perhaps has to do
// something. The time that it takes is none of the host's.
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
