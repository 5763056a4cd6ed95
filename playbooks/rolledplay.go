package playbooks

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/playbooks/rollout/rolling"
)

// A rolledPlay is a play with a rollout on the hosts of a fleet: what [rolling.Rollout] decides, it does.
type rolledPlay struct {
	fleet   *fleet
	of      *selection
	rollout *manifest.Rollout
}

func (f *fleet) rolled(s *selection) *rolledPlay {
	return &rolledPlay{fleet: f, of: s, rollout: s.play.Rollout}
}

// on returns the play on one of its hosts.
func (r *rolledPlay) on(state *hostState) *hostPlay { return r.fleet.playOn(r.of.whole(), state) }

// rollOut takes a play over its hosts. It returns false when the run must end.
func (f *fleet) rollOut(ctx context.Context, s *selection, alive []*inventory.Host) bool {
	f.otherFacts(ctx, s)
	result := f.rolled(s).plan(alive).Run(ctx)
	s.begun = s.begun || result.Done // even if nothing had to change
	f.rolloutStopped = f.rolloutStopped || result.Stopped
	if result.TakeBack != nil || result.TakeBackAll {
		f.takeBack, f.takeBackAll = result.TakeBack, result.TakeBackAll
	}
	return result.Done
}

// plan returns the rollout of the play. alive are the hosts that enter it.
func (r *rolledPlay) plan(alive []*inventory.Host) *rolling.Rollout {
	runner := r.fleet.runner
	o := &rolling.Rollout{
		Play: r.of.play, Number: r.of.number + 1, Hosts: r, Probes: r, Events: runner.Events, Now: runner.Now,
		Ask: runner.Ask, Steer: runner.Steer, Stop: r.fleet.stop,
		Options: rolling.Options{
			Run: runner.Options.Run, Forks: runner.forks(), IncludeBroken: runner.Options.IncludeBroken,
			Canary: runner.Options.Canary, Yes: runner.Options.Yes, Hold: runner.Options.Hold,
		},
	}
	if p := runner.Options.Progress; p != nil {
		o.Past = p.Plays[r.of.number].Rollout
	}
	if runner.Options.CompileFirst {
		o.Ready = func(failed int) bool { return r.fleet.allReady(r.of.play, failed, len(alive)) }
	}
	entered := setOf(names(alive))
	for _, h := range r.of.hosts {
		group, _ := groupOf(h, r.rollout.By)
		o.Members = append(o.Members, rolling.Member{Name: h.Name, Group: group, Entered: entered[h.Name], Done: r.of.done[h.Name]})
	}
	return o
}

// predictBatches observes the results of a play with a rollout in a check run. tell reports the batches in which the
// play would run.
func (f *fleet) predictBatches(ctx context.Context, s *selection, alive []*inventory.Host) (tell func()) {
	var mu sync.Mutex
	seen := map[string]Prediction{}
	s.found = func(host string, found Prediction) {
		mu.Lock()
		defer mu.Unlock()
		seen[host] = found
	}
	return func() {
		if f.runner.Options.Monitor || f.interrupted(ctx) {
			return
		}
		plan := f.rolled(s).plan(alive)
		hosts := plan.Entering()
		for i := range hosts {
			one := &hosts[i]
			switch told, phase := seen[one.Name], f.states[one.Name].phase(); {
			case phase.wasLost():
				one.Unreachable = phase == hostUnreachable
				one.Failed = !one.Unreachable
			default:
				one.Changes, one.Restarts, one.LikelyRestarts = told.Changes, told.Restarts, told.LikelyRestarts
			}
		}
		plan.Preview(hosts)
	}
}

// came adds a result of a check. Uncertain results and failures count as changes.
func (f *Prediction) came(c *wire.Catalog, r *wire.Result) {
	entry := &c.Entries[r.Index]
	if entry.Check || entry.Monitor { // noop: it is not changed
		return
	}
	f.Changes = f.Changes || r.Grade != modules.Certain || r.Status == wire.Changed || r.Status.HasFailed()
	switch ref := entry.Ref(); {
	case !restarts(r) || r.Grade == modules.Unknown:
	case r.Grade == modules.Certain || r.Because == ref: // only whether it succeeds is in doubt
		f.Restarts = append(f.Restarts, ref)
	default:
		f.LikelyRestarts = append(f.LikelyRestarts, ref)
	}
}

// Predict implements [rolling.Hosts]. Sessions are kept, as between plays. Hosts on which nothing would change have
// finished the play.
func (r *rolledPlay) Predict(ctx context.Context, hosts []rollout.Host) {
	at := map[string]int{}
	list := make([]*inventory.Host, len(hosts))
	for i, h := range hosts {
		at[h.Name], list[i] = i, r.fleet.states[h.Name].host
	}
	r.fleet.each(ctx, list, false, func(state *hostState) { r.predictHost(ctx, state, &hosts[at[state.host.Name]]) })
}

// Begin implements [rolling.Hosts].
func (r *rolledPlay) Begin(batch []string) (end func()) {
	f := r.fleet
	r.of.begun = true
	f.exchange.BatchBegins(r.of.number, batch)
	alone := func(string) {} // out of turn, no host begins
	f.sessions.Begin(batch, alone)
	f.once.Begin(batch, false, alone)
	return func() { f.sessions.End(batch...) }
}

// Roll implements [rolling.Hosts].
func (r *rolledPlay) Roll(ctx context.Context, host string) (outcome rollout.Outcome, left bool) {
	f, state := r.fleet, r.fleet.states[host]
	defer f.sessions.End(host)
	p, start := r.on(state), f.runner.Now()
	p.take()
	outcome, err := r.rollOn(ctx, p)
	left = errors.Is(err, errStopped) || f.interrupted(ctx) && errors.Is(err, context.Canceled)
	untouched := left && !state.phase().begun()
	p.ended(ctx, start.Add(state.times.queued), err)
	if untouched {
		state.plays = append([]*selection{r.of}, state.plays...)
	}
	return outcome, left
}

var errLeftOut = errors.New("skipped: it was not healthy before the rollout; to include it, pass --include-broken")

// Skip implements [rolling.Hosts].
func (r *rolledPlay) Skip(ctx context.Context, host string) {
	p := r.on(r.fleet.states[host])
	p.take()
	p.ended(ctx, r.fleet.runner.Now(), &phaseError{phase: "soak", err: errLeftOut})
}

// Healthy implements [rolling.Probes].
func (r *rolledPlay) Healthy(ctx context.Context, host string) bool {
	state := r.fleet.states[host]
	sick, err := process(ctx, r.on(state), HealthRequest{})
	if err != nil || !state.phase().keeps() {
		state.close()
	}
	return sick == "" && err == nil
}

// Gate implements [rolling.Probes].
func (r *rolledPlay) Gate(ctx context.Context, gate int, host string) (good bool, text string, err error) {
	state, err := r.fleet.target(host)
	if err != nil {
		return false, "", err
	}
	found, err := process(ctx, r.on(state), GateRequest{Gate: gate})
	if err == nil && found.Open != "" {
		err = errors.New(found.Open)
	}
	if r.rollout.Gates[gate].On == nil && !state.phase().keeps() {
		state.close()
	}
	return found.Good, found.Text, err
}

func (r *rolledPlay) predictHost(ctx context.Context, state *hostState, host *rollout.Host) {
	f := r.fleet
	p, start := r.on(state), f.runner.Now()
	p.take()
	found, err := process(ctx, p, PredictRequest{Unfinished: host.Changes})
	start = start.Add(state.times.queued)
	switch {
	case errors.Is(err, errStopped):
	case err != nil:
		host.Unreachable = unreachable(err)
		host.Failed = !host.Unreachable
		p.ended(ctx, start, err)
		return
	default:
		host.Changes, host.Restarts, host.LikelyRestarts, host.Broken = found.Changes, found.Restarts, found.LikelyRestarts, found.Sick != ""
	}
	if err == nil && !host.Changes {
		state.begin()
		p.ended(ctx, start, nil)
		return
	}
	state.times.elapsed += f.runner.Now().Sub(start)
	p.leave()
}

// PredictRequest predicts which resources the play would change on the host, and checks the health of the host. If
// nothing would change, the results of the host are reported: they are the results of the play.
type PredictRequest struct {
	Unfinished bool `json:"unfinished,omitempty"` // an earlier run did not finish the play on the host
}

// A PredictResult is the result of a [PredictRequest].
type PredictResult struct {
	Prediction
	Sick string `json:"sick,omitempty"` // the first failed health check; "" means none
}

func (q PredictRequest) do(ctx context.Context, p *hostPlay) (found PredictResult, err error) {
	r, state, f := p.fleet.rolled(p.of.selection), p.state, p.fleet
	found.Changes = q.Unfinished
	var told []events.Event
	look := r.of.whole().looking(false, func(_ string, c *wire.Catalog, result *wire.Result) {
		found.came(c, result)
		if !found.Changes {
			e := resultEvent(r.of.play.Name, state.host.Name, c, nil, result)
			e.Check = c.Entries[result.Index].Check
			p.noteFacts(&e)
			told = append(told, e)
		}
	})
	timed, done := f.runner.hostTime(ctx)
	defer done()
	err = f.playOn(look, state).run(timed)
	if err == nil && rolling.Monitored(r.of.play) {
		found.Sick, err = r.sick(timed, state)
	}
	if err = late(timed, err); err == nil && !found.Changes {
		f.runner.Events.Report(told...)
	}
	return found, err
}

// HealthRequest runs the health checks of the play on the host. The result is the first failure; "" means none.
type HealthRequest struct{}

func (HealthRequest) do(ctx context.Context, p *hostPlay) (sick string, err error) {
	timed, done := p.runner.hostTime(ctx)
	defer done()
	return p.fleet.rolled(p.of.selection).sick(timed, p.state)
}

// sick runs the health checks of the play on a host, and returns the first failure; "" means none.
func (r *rolledPlay) sick(ctx context.Context, state *hostState) (wrong string, err error) {
	look := r.of.whole().looking(true, func(_ string, c *wire.Catalog, result *wire.Result) {
		if result.Status.HasFailed() && wrong == "" {
			wrong = c.Entries[result.Index].Ref() + ": " + result.Error
		}
	})
	err = r.fleet.playOn(look, state).run(ctx)
	return wrong, err
}

// GateRequest runs the check of a gate on the host.
type GateRequest struct {
	Gate int `json:"gate"` // its number, from 0
}

// A GateResult is the result of a [GateRequest].
type GateResult struct {
	Good bool   `json:"good,omitempty"` // the gate was passed
	Text string `json:"text,omitempty"` // text of the gate's result
	Open string `json:"open,omitempty"` // why it is not known whether it was passed; "" if it is
}

func (q GateRequest) do(ctx context.Context, p *hostPlay) (found GateResult, err error) {
	r := p.fleet.rolled(p.of.selection)
	if q.Gate < 0 || q.Gate >= len(r.rollout.Gates) {
		return found, fmt.Errorf("play %q has no gate %d", p.of.play.Name, q.Gate+1)
	}
	part := r.of.step(r.of.parts.gates[q.Gate], r.rollout.Gates[q.Gate].Check, gatePart)
	var verdicts []wire.HealthVerdict
	failed := false
	look := part.looking(true, func(_ string, _ *wire.Catalog, result *wire.Result) {
		failed = failed || result.Status.HasFailed()
		verdicts = append(verdicts, result.Health...)
		if result.Error != "" {
			found.Text = result.Error
		}
	})
	timed, done := p.runner.hostTime(ctx)
	defer done()
	if err := p.playOn(look, p.state).run(timed); err != nil {
		return GateResult{}, late(timed, err)
	}
	found.Good = !failed
	for _, v := range verdicts {
		if found.Text == "" {
			found.Text = v.Output
		}
		if v.Status == wire.HealthUnknown {
			found.Open = "it answered UNKNOWN"
			return found, nil
		}
	}
	if len(verdicts) == 0 {
		found.Open = "no answer"
	}
	return found, nil
}

// restarts reports whether a resource was restarted because of another one.
func restarts(r *wire.Result) bool { return r.Refreshed && r.Status == wire.Changed }
