package playbooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/playbooks/rollout/rolling"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
)

// A rollingHost is a host in progress in a rollout.
type rollingHost struct {
	*rolledPlay
	state     *hostState
	changed   bool
	restarted bool
}

// RollRequest takes the host through its part of the rollout.
type RollRequest struct{}

// rollOn processes a [RollRequest], and returns the outcome also if no worker reports one.
func (r *rolledPlay) rollOn(ctx context.Context, p *hostPlay) (rollout.Outcome, error) {
	outcome, err := process(ctx, p, RollRequest{})
	if outcome == nil {
		return outcomeOf(err), err
	}
	outcome.Failed = outcome.Failed || p.state.phase().hasFailed() // the registration of a service may fail after the turn
	return *outcome, err
}

func (RollRequest) do(ctx context.Context, p *hostPlay) (*rollout.Outcome, error) {
	w := &rollingHost{rolledPlay: p.fleet.rolled(p.of.selection), state: p.state}
	timed := ctx
	if d := w.rollout.HostDeadline; d > 0 {
		limited, cancel := withLimit(ctx, d)
		defer cancel()
		timed, p.state.limit = limited, d
	}
	err := w.roll(timed)
	p.state.limit = 0
	err = late(timed, err)
	outcome := w.outcome(err)
	return &outcome, err
}

// outcomeOf returns the outcome of a host for which no worker has reported one.
func outcomeOf(err error) rollout.Outcome {
	o := rollout.Outcome{Failed: err != nil}
	if told, ok := errors.AsType[*toldFailure](err); ok {
		failed, _ := told.event.(events.HostFailed)
		o.Unreachable = failed.Phase == phaseLost
		o.Touched = o.Unreachable
	}
	return o
}

// roll takes the host out of service, applies the play, waits until the host has been healthy for long enough, and puts
// it back. If one step fails, the later steps are skipped: a host that is not healthy stays out of service.
func (w *rollingHost) roll(ctx context.Context) error {
	f, parts := w.fleet, w.of.parts
	if parts != nil && parts.before != nil {
		w.state.activity.At("being drained")
		part := w.of.step(parts.before, w.rollout.Before, beforePart)
		part.heard = w.heard
		if err := f.playOn(part, w.state).run(ctx); err != nil || w.state.phase().hasFailed() {
			return err
		}
	}
	play := w.of.whole()
	play.heard = w.heard
	if err := f.playOn(play, w.state).run(ctx); err != nil || w.state.phase().hasFailed() {
		return err
	}
	if err := w.soak(ctx); err != nil {
		return err
	}
	if parts != nil && parts.after != nil {
		w.state.activity.At("being put back into service")
		return f.playOn(w.of.step(parts.after, w.rollout.After, afterPart), w.state).run(ctx)
	}
	return nil
}

func (w *rollingHost) heard(_ string, c *wire.Catalog, r *wire.Result) {
	w.changed = w.changed || changedHost(c, r)
	w.restarted = w.restarted || restarts(r)
}

// Bounds of a soak: the interval of the health checks, and how much longer it may take if the host has no deadline.
const (
	shortestAsk = time.Second
	longestAsk  = 5 * time.Second
	patience    = 5 * time.Minute
)

// soak waits until the health checks have held for the required time, without a break.
func (w *rollingHost) soak(ctx context.Context) error {
	d := w.rollout.Soak
	if d <= 0 {
		return nil
	}
	defer w.state.activity.Pin("soaking")()
	if w.rollout.HostDeadline == 0 {
		limited, cancel := withLimit(ctx, d+patience)
		defer cancel()
		ctx = limited
	}
	asks, every := rolling.Monitored(w.of.play), min(longestAsk, max(shortestAsk, d/3))
	bad := "" // the last failure
	for since := time.Now(); ; {
		if asks {
			wrong, err := w.sick(ctx, w.state)
			if err != nil {
				if session.Overdue(ctx) != nil {
					return unhealthy(d, bad)
				}
				return err
			}
			if wrong != "" {
				since, bad = time.Time{}, wrong
			} else if since.IsZero() {
				since = time.Now()
			}
		}
		wait := every
		if !since.IsZero() {
			left := time.Until(since.Add(d))
			if left <= 0 {
				return w.alive(ctx)
			}
			wait = min(every, left)
		}
		select {
		case <-time.After(wait):
		case <-w.fleet.stop:
			return &stoppedError{phase: "soak"}
		case <-ctx.Done():
			if session.Overdue(ctx) != nil {
				return unhealthy(d, bad)
			}
			return ctx.Err()
		}
	}
}

// unhealthy returns the reason why a host does not count as done. bad is the last failure; "" means none.
func unhealthy(d time.Duration, bad string) error {
	err := fmt.Errorf("its deadline came before its health checks had held for %s", d)
	if bad != "" {
		err = fmt.Errorf("%w; the last one that did not: %s", err, bad)
	}
	return &phaseError{phase: "soak", err: err}
}

// alive checks that the host still answers: it has been silent for the soak.
func (w *rollingHost) alive(ctx context.Context) error {
	if w.state.dead() {
		w.state.close()
	}
	if err := w.on(w.state).start(ctx); err != nil {
		return phased(err, events.Rest{})
	}
	return nil
}

// outcome returns the outcome of the host, for the limits of the rollout.
func (w *rollingHost) outcome(err error) rollout.Outcome {
	o := rollout.Outcome{Failed: err != nil || w.state.phase().hasFailed(), Restarted: w.restarted, Touched: w.changed}
	if err == nil {
		return o
	}
	pe, _ := errors.AsType[*phaseError](err)
	lost := pe != nil && pe.phase == phaseLost
	if o.Unreachable = transport.Unreachable(err) || lost; o.Unreachable {
		o.Touched = true
	}
	if pe != nil && (pe.phase == "soak" || pe.phase == "deadline") { // its progress is unknown
		o.Touched = o.Touched || w.state.phase().begun()
	}
	return o
}
