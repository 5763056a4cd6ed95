package playbooks

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
)

const (
	// firstRedial and longestRedial are the waits between attempts to reach a host again,
	// each of which is twice the one before.
	firstRedial   = 250 * time.Millisecond
	longestRedial = 8 * time.Second
	// maxIdle is how often a connection may be lost without a result in between, or before the
	// host program has greeted: what ends it each time does not get another one for ever.
	maxIdle = 3
)

// apply carries a catalog through the host program, and through others over new connections
// when one is lost on the way. It gives the program that came last.
func (f *fleet) apply(ctx context.Context, s *selection, state *hostState, program *hostProgram, t session.Task, progress *catalogProgress) (last *hostProgram, whole bool, err error) {
	end := time.Now().Add(t.Host.Remaining)
	told, idle := 0, 0
	for {
		state.activity.Waits(program.session.Waits)
		whole, err = program.session.Apply(ctx, f.stop, t)
		if err == nil || !f.mayReconnect(ctx, t.Compiled, err) {
			return program, whole, err
		}
		if idle++; progress.count() > told {
			told, idle = progress.count(), 0
		}
		if idle == maxIdle {
			return program, false, err
		}
		began := f.runner.Now()
		limit := state.guard.lost(err, f.runner.Options.Reconnect)
		if progress.next() != nil { // which may have the host start again
			limit = max(limit, t.Compiled.Restarts(progress.reached))
		}
		fresh, stopped := f.redial(ctx, s.play, state, program, limit, math.MaxInt)
		if fresh == nil {
			if stopped {
				return program, false, nil
			}
			return program, false, err
		}
		program = fresh
		t.Known, t.Compiled.Catalog.From = progress.again(), 0
		state.at(progress)
		if lock := t.Compiled.Catalog.Lock; lock != nil {
			lock.Again = true
		}
		t.Host.Remaining = time.Until(end)
		f.runner.Events.Report(events.Reconnect{
			Play: s.play.Name, Host: state.host.Name, Error: err.Error(),
			Reported: progress.count(), Remaining: len(t.Known) - progress.count(), Duration: f.runner.Now().Sub(began),
		})
	}
}

// mayReconnect reports whether a catalog ended because its connection, or its program, was
// lost, and can be gone on with: one that takes no lock is kept by no host, so that what it
// does would be done again.
func (f *fleet) mayReconnect(ctx context.Context, c *catalog.Compiled, err error) bool {
	kept := c.Catalog.Lock != nil || c.Catalog.Check
	return f.runner.Options.Reconnect > 0 && kept && c.Catalog.Watch == nil && phaseOf(err) == phaseLost && !f.interrupted(ctx)
}

// startedAgain is program and err, or, if err is that the connection was lost while a host
// program was being started, another one over a new connection. Nothing had been asked of the
// host by then. like is the program that it takes the place of, nil is none.
func (f *fleet) startedAgain(ctx context.Context, play *manifest.Play, state *hostState, like, program *hostProgram, err error) (*hostProgram, error) {
	if f.runner.Options.Reconnect == 0 || state.watched || !lostAtStart(err) || f.interrupted(ctx) {
		return program, err
	}
	began := f.runner.Now()
	fresh, _ := f.redial(ctx, play, state, like, f.runner.Options.Reconnect, maxIdle-1)
	if fresh == nil {
		return nil, err
	}
	f.runner.Events.Report(events.Reconnect{Play: play.Name, Host: state.host.Name, Error: err.Error(), Duration: f.runner.Now().Sub(began)})
	return fresh, nil
}

// lostAtStart reports whether a host was reached, and the connection then lost before its
// program had greeted.
func lostAtStart(err error) bool {
	return errors.Is(err, transport.ErrLost) && !transport.Unreachable(err)
}

// redial starts a host program over a new connection, with the facts of the one before, if
// there was one. It is nil when the time for that is over, or so many starts were lost as well,
// or with stopped when the run ends.
func (f *fleet) redial(ctx context.Context, play *manifest.Play, state *hostState, lost *hostProgram, limit time.Duration, starts int) (fresh *hostProgram, stopped bool) {
	state.close()
	defer state.activity.Pin("reconnecting")()
	end := time.Now().Add(limit)
	for wait, n := firstRedial, 0; ; wait, n = min(2*wait, longestRedial), n+1 {
		select {
		case <-time.After(min(wait, time.Until(end))):
		case <-f.stop:
			return nil, true
		case <-ctx.Done():
			return nil, true
		}
		if state.guard.isArmed() {
			state.over = state.guard.way(n)
		}
		timed, cancel := context.WithDeadline(ctx, end)
		fresh, err := f.programLike(timed, play, state, lost)
		cancel()
		if lostAtStart(err) {
			starts--
		}
		switch {
		case err == nil:
			return fresh, false
		case f.interrupted(ctx):
			return nil, true
		case starts <= 0, !time.Now().Before(end), errors.Is(err, transport.ErrHostKeyChanged), errors.Is(err, transport.ErrHostKeyUnknown), errors.Is(err, transport.ErrHostKeyRevoked):
			return nil, false
		}
		state.close()
	}
}
