package transport

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	defaultDialLimit      = 10 * time.Second
	defaultHandshakeLimit = 10 * time.Second
	defaultAuthLimit      = 60 * time.Second
	// defaultSignLimit leaves a person the time to confirm a signature; sshd itself
	// gives up after two minutes (sshd_config, LoginGraceTime).
	defaultSignLimit = 60 * time.Second
)

// over lays l over lower: what is 0 in l is taken from there.
func (l Limits) over(lower Limits) Limits {
	return Limits{
		Dial:      cmp.Or(l.Dial, lower.Dial),
		Handshake: cmp.Or(l.Handshake, lower.Handshake),
		Auth:      cmp.Or(l.Auth, lower.Auth),
		Sign:      cmp.Or(l.Sign, lower.Sign),
	}
}

var defaultLimits = Limits{Dial: defaultDialLimit, Handshake: defaultHandshakeLimit, Auth: defaultAuthLimit, Sign: defaultSignLimit}

func (d *Dialer) limits(t Target) Limits { return t.Limits.over(d.Limits).over(defaultLimits) }

// of is the limit of a step of getting in.
func (l Limits) of(op string) time.Duration {
	switch op {
	case OpDial:
		return l.Dial
	case OpHandshake:
		return l.Handshake
	}
	return l.Auth
}

// phases is where an attempt to get in has got to. The context ends when the phase
// that is under way takes longer than it may.
type phases struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limits Limits

	mu    sync.Mutex
	op    string
	began int // how many waits have begun: a timer that fires late is none of the present one's
	timer *time.Timer
}

func newPhases(ctx context.Context, l Limits) *phases {
	p := &phases{limits: l}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.begin(OpDial)
	return p
}

// begin is enter with the lock held, or not needed yet.
func (p *phases) begin(op string) { p.beginFor(op, p.limits.of(op)) }

func (p *phases) beginFor(op string, limit time.Duration) {
	p.op = op
	p.began++
	began := p.began
	p.timer = time.AfterFunc(limit, func() { p.expire(began, limit) })
}

// enter begins a phase. After the end of the context the phase stays the one that
// it ended in.
func (p *phases) enter(op string) { p.enterFor(op, p.limits.of(op)) }

// signing does something for which the host waits, and a person perhaps has to do
// something. The time that it takes is none of the host's.
func (p *phases) signing(do func()) {
	p.enterFor(OpAuthenticate, p.limits.Sign)
	do()
	p.enter(OpAuthenticate)
}

func (p *phases) enterFor(op string, limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.timer.Stop()
	p.beginFor(op, limit)
}

func (p *phases) expire(began int, limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began == began {
		p.cancel(fmt.Errorf("%w after %s", ErrTimeout, limit))
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
