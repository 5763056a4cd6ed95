package playbooks

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
)

const (
	// firstRedial and longestRedial are the waits between attempts to reach a host again,
	// each of which is twice the one before.
	firstRedial   = 250 * time.Millisecond
	longestRedial = 8 * time.Second
	// maxIdle is how often a connection may be lost without a result in between, or before the host program has
	// greeted: a cause that ends every connection must not cause endless attempts.
	maxIdle = 3
)

// apply carries the catalog of a task through the host program, and through others over new connections
// when one is lost on the way.
func (g *stages) apply(ctx context.Context, t session.Task) (whole bool, err error) {
	state, progress := g.state, g.progress
	end := time.Now().Add(t.Host.Remaining)
	told, idle := 0, 0
	for {
		state.activity.Waits(g.program.session.Waits)
		whole, err = g.program.session.Apply(ctx, g.stop, t)
		if err == nil || !g.mayReconnect(ctx, err) {
			return whole, err
		}
		if idle++; progress.count() > told {
			told, idle = progress.count(), 0
		}
		if idle == maxIdle {
			return false, err
		}
		began := g.runner.Now()
		limit := state.guard.Lost(err, g.runner.Options.Reconnect)
		if progress.next() != nil { // which may have the host start again
			limit = max(limit, t.Compiled.Restarts(progress.reached))
		}
		back, stopped := g.redial(ctx, limit, math.MaxInt)
		if stopped && len(g.mayRun()) == 0 {
			return false, nil
		}
		if !back {
			return false, err
		}
		t.Known, t.Compiled.Catalog.From = progress.again(), 0
		state.at(progress)
		if lock := t.Compiled.Catalog.Lock; lock != nil {
			lock.Again = true
		}
		t.Host.Remaining = time.Until(end)
		g.runner.Events.Report(events.Reconnect{
			Play: g.of.play.Name, Host: state.host.Name, Error: err.Error(),
			Reported: progress.count(), Remaining: len(t.Known) - progress.count(), Duration: g.runner.Now().Sub(began),
		})
	}
}

// mayReconnect reports whether the catalog ended because its connection, or its program, was lost, and can be resumed.
// Except in a check run, a catalog without a lock cannot be resumed: no host keeps its results, so its resources would
// run again.
func (g *stages) mayReconnect(ctx context.Context, err error) bool {
	c := &g.compiled.Catalog
	kept := c.Lock != nil || c.Check
	return g.runner.Options.Reconnect > 0 && kept && c.Watch == nil && phaseOf(err) == phaseLost && !g.interrupted(ctx)
}

// startedAgain returns err, unless the connection was lost during the start of a host program, and another one could be
// started over a new connection. The host had received no requests by then.
func (p *hostPlay) startedAgain(ctx context.Context, err error) error {
	if p.runner.Options.Reconnect == 0 || p.of.mode.watched() || !lostAtStart(err) || p.interrupted(ctx) {
		return err
	}
	began := p.runner.Now()
	if back, _ := p.redial(ctx, p.runner.Options.Reconnect, maxIdle-1); !back {
		return err
	}
	p.runner.Events.Report(events.Reconnect{Play: p.of.play.Name, Host: p.state.host.Name, Error: err.Error(), Duration: p.runner.Now().Sub(began)})
	return nil
}

// lostAtStart reports whether a host was reached, and the connection then lost before its
// program had greeted.
func lostAtStart(err error) bool {
	return errors.Is(err, transport.ErrLost) && !transport.Unreachable(err)
}

// redial starts a host program over a new connection, with the facts of the one before, if
// there was one. It is not back when the time for that is over, or so many starts were lost as well,
// or, with stopped, when the run ends.
func (p *hostPlay) redial(ctx context.Context, limit time.Duration, starts int) (back, stopped bool) {
	state := p.state
	state.close()
	defer state.activity.Pin("reconnecting")()
	end := time.Now().Add(limit)
	for wait, n := firstRedial, 0; ; wait, n = min(2*wait, longestRedial), n+1 {
		select {
		case <-time.After(min(wait, time.Until(end))):
		case <-p.stop:
			return false, true
		case <-ctx.Done():
			return false, true
		}
		if state.guard.Armed() {
			state.over = state.guard.Way(n)
		}
		timed, cancel := context.WithDeadline(ctx, end)
		err := p.startLike(timed)
		cancel()
		if lostAtStart(err) {
			starts--
		}
		switch {
		case err == nil:
			return true, false
		case p.interrupted(ctx):
			return false, true
		case starts <= 0, !time.Now().Before(end), errors.Is(err, transport.ErrHostKeyChanged), errors.Is(err, transport.ErrHostKeyUnknown), errors.Is(err, transport.ErrHostKeyRevoked):
			return false, false
		}
		state.close()
	}
}
