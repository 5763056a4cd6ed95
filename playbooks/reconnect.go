package playbooks

import (
	"context"
	"errors"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
)

const (
	// firstRedial and longestRedial are the waits between attempts to reach a host again,
	// each of which is twice the one before.
	firstRedial   = 250 * time.Millisecond
	longestRedial = 8 * time.Second
	// maxIdle is how often a connection may be lost without a result in between: a resource
	// that ends the host program each time does not get another one for ever.
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
		fresh, stopped := f.redial(ctx, s, state, program, state.guard.lost(err, f.runner.Options.Reconnect))
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
	return f.runner.Options.Reconnect > 0 && kept && phaseOf(err) == phaseLost && !f.interrupted(ctx)
}

// redial starts a host program over a new connection, with the facts of the one before. It is
// nil when the time for that is over, or with stopped when the run ends.
func (f *fleet) redial(ctx context.Context, s *selection, state *hostState, lost *hostProgram, limit time.Duration) (fresh *hostProgram, stopped bool) {
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
		fresh, err := f.programLike(timed, s.play, state, lost)
		cancel()
		switch {
		case err == nil:
			return fresh, false
		case f.interrupted(ctx):
			return nil, true
		case !time.Now().Before(end), errors.Is(err, transport.ErrHostKeyChanged), errors.Is(err, transport.ErrHostKeyUnknown), errors.Is(err, transport.ErrHostKeyRevoked):
			return nil, false
		}
		state.close()
	}
}
