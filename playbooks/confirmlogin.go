package playbooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
)

// confirm logs in to a host anew, by all the ways that the play names, and has it keep its changes. The
// verdict is that of the host, or "" if it could not be asked; why says what has kept it from being
// confirmed. An error leaves the host to itself.
func (g *guard) confirm(ctx context.Context, ended time.Time) (verdict wire.ConfirmState, why string, err error) {
	defer g.state.activity.Pin("confirming")()
	end := ended.Add(g.within)
	refused, wait := 0, settling
	for n := 0; refused < mostRefused && time.Until(end) > wait; n++ {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return "", "", g.given(interruption(ctx) + " before it was confirmed")
		}
		wait = min(firstProof<<min(n, 8), longestProof)
		timed, cancel := context.WithDeadline(ctx, end)
		state, over, err := g.prove(timed)
		cancel()
		switch {
		case err == nil && state == wire.StateConfirmed:
			g.runner.Events.Report(events.Confirmed{Play: g.of.play.Name, Host: g.state.host.Name, Over: over, Duration: time.Since(ended)})
			return state, "", nil
		case err == nil:
			return state, cmp.Or(why, "the login came too late"), nil
		case ctx.Err() != nil:
			return "", "", g.given(interruption(ctx) + " before it was confirmed")
		case refuses(err):
			refused++
		}
		why, _ = g.reason(err)
	}
	return "", cmp.Or(why, "there was no time to log in"), nil
}

// refuses reports whether an error is a decision of the host about who logs in, or ours about the host.
func refuses(err error) bool {
	for _, decision := range []error{transport.ErrAuth, transport.ErrBecome, transport.ErrHostKeyChanged, transport.ErrHostKeyUnknown, transport.ErrHostKeyRevoked} {
		if errors.Is(err, decision) {
			return true
		}
	}
	return false
}

// prove logs in to a host by every way of the play, and tells the host so over the last one.
func (g *guard) prove(ctx context.Context) (state wire.ConfirmState, over []string, err error) {
	ways, err := g.ways()
	if err != nil {
		return "", nil, err
	}
	for i, target := range ways {
		then := func(s *session.Session) error {
			answer, err := s.Prove(ctx, g.nonce)
			if err == nil {
				state = answer.State
			}
			return err
		}
		if i < len(ways)-1 {
			then = nil
		}
		if err := g.logIn(ctx, target, then); err != nil {
			return "", nil, err
		}
		over = append(over, target.Addr())
	}
	if state == wire.StateConfirmed && len(g.via) > 0 {
		g.state.over = &ways[len(ways)-1]
	}
	return state, over, nil
}

// logIn logs in to a host as the play does, and starts a host program, over connections that are
// shared with nothing, not even those to jump hosts. then speaks with it; nil has nothing to say.
func (g *guard) logIn(ctx context.Context, target transport.Target, then func(*session.Session) error) error {
	r := g.runner
	dialer := r.Dialer.Apart()
	defer dialer.Close()
	client, err := dialer.Dial(ctx, target)
	if err != nil {
		return err
	}
	become, _ := g.runsAs()
	program, err := r.start(ctx, client, programStart{host: g.state.host.Name, become: become, full: g.full})
	if err != nil {
		client.Close()
		return err
	}
	defer program.session.Close()
	defer client.Close()
	if then == nil {
		return nil
	}
	return then(program.session)
}

// ways are where the changed host is to be reached: at each of them.
func (g *guard) ways() ([]transport.Target, error) {
	before := g.before
	if len(g.via) == 0 {
		return []transport.Target{before}, nil
	}
	var all []transport.Target
	for _, via := range g.via {
		target := before
		target.User = cmp.Or(via.User, before.User)
		target.Address = cmp.Or(via.Host, before.Address)
		target.Port = cmp.Or(via.Port, before.Port)
		if target.Addr() != before.Addr() {
			if before.ProxyCommand != "" {
				return nil, fmt.Errorf("confirm_via %s: %s is reached by a ProxyCommand, which chooses the address itself: remove confirm_via", via, before.Host)
			}
			// It is the same host, so it has the key that it is known by.
			target.KnownAt, target.HostKeys = cmp.Or(before.KnownAt, before.Addr()), transport.Strict
		}
		all = append(all, target)
	}
	return all, nil
}

// way gives where a host whose connection was lost is dialled the nth time, from 0: as before and, if it
// is changing that, where it is to be reached then. nil is as the inventory says.
func (g *guard) way(n int) *transport.Target {
	ways, err := g.ways()
	if i := n % (len(ways) + 1); err == nil && i > 0 {
		return &ways[i-1]
	}
	return g.was
}

// isArmed reports whether the host takes back what is not confirmed.
func (g *guard) isArmed() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.armed
}

// lost notes that the connection to a host was lost, and gives how long it is worth to dial it again:
// at least until it has taken back what may have cut it off.
func (g *guard) lost(err error, reconnect time.Duration) time.Duration {
	if !g.isArmed() {
		return reconnect
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone, g.loss = time.Now(), err
	return max(reconnect, g.within+settling+reverting)
}

// reason is what an event says of the error of a host, and what to do about it.
func (g *guard) reason(err error) (text, hint string) {
	if he, ok := errors.AsType[*transport.HostError](err); ok {
		hint = he.Hint
	}
	return events.FailureText(failure(g.of.play.Name, g.state.host.Name, err)), hint
}
