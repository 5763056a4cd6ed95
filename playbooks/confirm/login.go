package confirm

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

// confirm logs in to a host again, by all the ways that the play names, and the host keeps its changes. verdict comes from the host;
// "" means that the host did not answer. why is the reason without a confirmation. After an error the host decides by itself.
func (g *Guard) confirm(ctx context.Context, ended time.Time) (verdict wire.ConfirmState, why string, err error) {
	defer g.Activity.Pin("confirming")()
	end := ended.Add(g.within())
	refused, wait := 0, settling
	for n := 0; refused < MaxRefused && time.Until(end) > wait; n++ {
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
			g.Events.Report(events.Confirmed{Play: g.Play, Host: g.Name, Over: over, Duration: time.Since(ended)})
			return state, "", nil
		case err == nil:
			return state, cmp.Or(why, "the login came too late"), nil
		case ctx.Err() != nil:
			return "", "", g.given(interruption(ctx) + " before it was confirmed")
		case refuses(err):
			refused++
		}
		why, _ = g.Reason(err)
	}
	return "", cmp.Or(why, "no time remained to log in"), nil
}

// refuses reports whether the host has refused the login, or the controller has refused the host.
func refuses(err error) bool {
	for _, decision := range []error{transport.ErrAuth, transport.ErrBecome, transport.ErrHostKeyChanged, transport.ErrHostKeyUnknown, transport.ErrHostKeyRevoked} {
		if errors.Is(err, decision) {
			return true
		}
	}
	return false
}

// prove logs in to a host by every way of the play, and confirms the changes over the last one.
func (g *Guard) prove(ctx context.Context) (state wire.ConfirmState, over []string, err error) {
	ways, err := g.ways()
	if err != nil {
		return "", nil, err
	}
	for i, target := range ways {
		then := func(s *session.Session) error {
			answer, err := s.Prove(ctx, g.Nonce)
			if err == nil {
				state = answer.State
			}
			return err
		}
		if i < len(ways)-1 {
			then = nil
		}
		if err := g.Host.Login(ctx, target, then); err != nil {
			return "", nil, err
		}
		over = append(over, target.Addr())
	}
	if state == wire.StateConfirmed && len(g.Via) > 0 {
		g.Host.Moved(ways[len(ways)-1])
	}
	return state, over, nil
}

// ways returns all addresses at which the changed host must be reachable.
func (g *Guard) ways() ([]transport.Target, error) {
	before := g.Before
	if len(g.Via) == 0 {
		return []transport.Target{before}, nil
	}
	var all []transport.Target
	for _, via := range g.Via {
		target := before
		target.User = cmp.Or(via.User, before.User)
		target.Address = cmp.Or(via.Host, before.Address)
		target.Port = cmp.Or(via.Port, before.Port)
		if target.Addr() != before.Addr() {
			if before.ProxyCommand != "" {
				return nil, fmt.Errorf(`confirm_via %s: the address of the host %s is chosen by a ProxyCommand, so "confirm_via" cannot change it: remove "confirm_via"`, via, before.Host)
			}
			// The host is the same, so it must have the same key.
			target.KnownAt, target.HostKeys = cmp.Or(before.KnownAt, before.Addr()), transport.Strict
		}
		all = append(all, target)
	}
	return all, nil
}

// Way returns the address for the nth attempt to dial a lost host, from 0: the old address, and in turns each one of the play.
// nil means the address in the inventory.
func (g *Guard) Way(n int) *transport.Target {
	ways, err := g.ways()
	if i := n % (len(ways) + 1); err == nil && i > 0 {
		return &ways[i-1]
	}
	return g.Was
}

// Armed reports whether the host reverts unconfirmed changes.
func (g *Guard) Armed() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.armed
}

// Lost notes that the connection to a host was lost, and returns how long it is worth to dial it again:
// at least until it has taken back what may have cut it off.
func (g *Guard) Lost(err error, reconnect time.Duration) time.Duration {
	if !g.Armed() {
		return reconnect
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone, g.loss = time.Now(), err
	return max(reconnect, g.within()+settling+reverting)
}
