package playbooks

import (
	"context"
	"errors"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// came takes a result of a check in. What is uncertain counts as a change, and so does what fails.
func (f *Found) came(c *wire.Catalog, r *wire.Result) {
	entry := &c.Entries[r.Index]
	if entry.Check || entry.Monitor { // noop: it is left as it is
		return
	}
	f.Changes = f.Changes || r.Uncertain || r.Status == wire.Changed || r.Status.HasFailed()
	if restarts(r) && !r.Uncertain {
		f.Restarts = append(f.Restarts, entry.Ref())
	}
}

// predict asks all hosts what would change on them, and whether they are healthy. Their sessions are
// kept, as between plays. Hosts on which nothing would change are done with the play.
func (r *rolling) predict(ctx context.Context, alive []*inventory.Host) []rollout.Host {
	f := r.fleet
	if r.of.play.Undo != nil { // which goes through no such phase
		return r.asTheyAre(alive)
	}
	left := r.leftUndone()
	f.runner.Events.Report(events.PlayStart{Play: r.of.play.Name, Number: r.number, Hosts: names(alive), Batch: 0, Batches: 0})
	hosts := make([]rollout.Host, len(alive))
	at := map[string]int{}
	for i, h := range alive {
		group, _ := groupOf(h, r.rollout.By)
		at[h.Name], hosts[i] = i, rollout.Host{Name: h.Name, Group: group, Changes: left[h.Name]}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.each(ctx, alive, false, func(state *hostState) { r.predictHost(ctx, state, &hosts[at[state.host.Name]]) })
	}()
	for {
		select {
		case request := <-f.runner.Steer:
			r.answer(request)
		case <-ended:
			return hosts
		}
	}
}

// predictBatches takes what a check run is told of a play with a rollout, and gives what tells the batches
// that the play would come in.
func (f *fleet) predictBatches(ctx context.Context, s *selection, alive []*inventory.Host) (tell func()) {
	var mu sync.Mutex
	seen := map[string]*Found{}
	s.heard = func(host string, c *wire.Catalog, result *wire.Result) {
		mu.Lock()
		defer mu.Unlock()
		if seen[host] == nil {
			seen[host] = &Found{}
		}
		seen[host].came(c, result)
	}
	s.found = func(host string, found Found) {
		mu.Lock()
		defer mu.Unlock()
		seen[host] = &found
	}
	return func() {
		r := f.rolling(s)
		var hosts []rollout.Host
		for _, h := range without(alive, s.done) {
			group, _ := groupOf(h, r.rollout.By)
			one := rollout.Host{Name: h.Name, Group: group}
			switch told := seen[h.Name]; {
			case f.states[h.Name].phase.wasLost():
				one.Unreachable = f.states[h.Name].phase == hostUnreachable
				one.Failed = !one.Unreachable
			case told != nil:
				one.Changes, one.Restarts = told.Changes, told.Restarts
			}
			hosts = append(hosts, one)
		}
		hosts = r.withOthers(alive, hosts)
		r.plan = rollout.NewPlan(r.rollout.Rules, hosts, rollout.Options{Canary: f.runner.Options.Canary})
		if !f.runner.Options.Monitor && !f.interrupted(ctx) {
			r.tellPlan()
		}
	}
}

func (r *rolling) asTheyAre(alive []*inventory.Host) []rollout.Host {
	hosts := make([]rollout.Host, len(alive))
	for i, h := range alive {
		group, _ := groupOf(h, r.rollout.By)
		hosts[i] = rollout.Host{Name: h.Name, Group: group, Changes: true}
	}
	return hosts
}

// leftUndone are the hosts that the run before had begun and not brought to their end: they may be
// drained.
func (r *rolling) leftUndone() map[string]bool {
	if past := r.past(); past != nil {
		return past.Left
	}
	return nil
}

func (r *rolling) predictHost(ctx context.Context, state *hostState, host *rollout.Host) {
	f := r.fleet
	p, start := f.playOn(r.of.whole(), state), f.runner.Now()
	p.take()
	found, err := r.predictOn(ctx, state, host.Changes)
	start = start.Add(state.times.queued)
	switch {
	case errors.Is(err, errStopped):
	case err != nil:
		host.Unreachable = unreachable(err)
		host.Failed = !host.Unreachable
		p.ended(ctx, start, err)
		return
	default:
		host.Changes, host.Restarts, host.Broken = found.Changes, found.Restarts, found.Sick != ""
	}
	if err == nil && !host.Changes {
		state.begin()
		p.ended(ctx, start, nil)
		return
	}
	state.times.elapsed += f.runner.Now().Sub(start)
	p.leave()
}

// predictOn asks a host what would change, and whether it is healthy. unfinished says that a run
// before has left it in the midst of the play. Where nothing would change, what it has told is told: these
// results are those of the play.
func (r *rolling) predictOn(ctx context.Context, state *hostState, unfinished bool) (Found, error) {
	f := r.fleet
	if p := f.playOn(r.of.whole(), state); p.goesAway() {
		return p.away(ctx, Turn{Kind: PredictTurn, Unfinished: unfinished})
	}
	found := Found{Changes: unfinished}
	var told []events.Event
	look := r.of.whole().looking(false, func(_ string, c *wire.Catalog, result *wire.Result) {
		found.came(c, result)
		if !found.Changes {
			e := resultEvent(r.of.play.Name, state.host.Name, c, nil, result)
			e.Check = c.Entries[result.Index].Check
			f.playOn(r.of.whole(), state).noteFacts(&e)
			told = append(told, e)
		}
	})
	timed, done := f.runner.hostTime(ctx)
	defer done()
	err := f.playOn(look, state).run(timed)
	if err == nil && monitored(r.of.play) {
		found.Sick, err = r.sick(timed, state)
	}
	if err = late(timed, err); err == nil && !found.Changes {
		f.runner.Events.Report(told...)
	}
	return found, err
}

// monitored reports whether resources of a play have health checks, as far as that is known.
func monitored(play *manifest.Play) bool {
	some := play.JetFile != nil
	manifest.Walk(play.Resources, func(r *manifest.Resource, _ int) { some = some || r.Health != nil })
	return some
}

// sickOn asks a host the health checks of the play, here or at a worker, and gives the first that is not
// passed; "" is none.
func (r *rolling) sickOn(ctx context.Context, state *hostState) (wrong string, err error) {
	if p := r.fleet.playOn(r.of.whole(), state); p.goesAway() {
		found, err := p.away(ctx, Turn{Kind: HealthTurn})
		return found.Sick, err
	}
	timed, done := r.fleet.runner.hostTime(ctx)
	defer done()
	return r.sick(timed, state)
}

// sick asks a host the health checks of the play, and gives the first that is not passed; "" is none.
func (r *rolling) sick(ctx context.Context, state *hostState) (wrong string, err error) {
	look := r.of.whole().looking(true, func(_ string, c *wire.Catalog, result *wire.Result) {
		if result.Status.HasFailed() && wrong == "" {
			wrong = c.Entries[result.Index].Ref() + ": " + result.Error
		}
	})
	err = r.fleet.playOn(look, state).run(ctx)
	return wrong, err
}

// lookAgain looks whether hosts that hold places are healthy by now. Without health checks nobody can
// tell, and they are not asked.
func (r *rolling) lookAgain(ctx context.Context) {
	if !monitored(r.of.play) || r.rollout.MaxUnavailable == nil {
		return
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	seen := map[string]bool{}
	held := r.conductor.Held()
	places := make(chan struct{}, r.fleet.runner.forks())
	for _, h := range held {
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			state := r.fleet.states[h.Host]
			sick, err := r.sickOn(ctx, state)
			if err != nil || !state.phase.keeps() {
				state.close()
			}
			mu.Lock()
			defer mu.Unlock()
			seen[h.Host] = sick == "" && err == nil
		})
	}
	asking.Wait()
	for _, h := range held {
		if seen[h.Host] {
			r.conductor.Healthy(h.Host)
		}
	}
}

// ask has a host answer the health check of a gate.
func (r *rolling) ask(ctx context.Context, gate int, state *hostState) (good bool, text string, err error) {
	found, err := r.askOn(ctx, gate, state)
	if err == nil && found.Open != "" {
		err = errors.New(found.Open)
	}
	return found.Good, found.Text, err
}

// askOn does so here or at a worker.
func (r *rolling) askOn(ctx context.Context, gate int, state *hostState) (found Found, err error) {
	if p := r.fleet.playOn(r.of.whole(), state); p.goesAway() {
		return p.away(ctx, Turn{Kind: GateTurn, Gate: gate})
	}
	part := r.of.step(r.of.parts.gates[gate], r.rollout.Gates[gate].Check, gatePart)
	var verdicts []wire.HealthVerdict
	failed := false
	look := part.looking(true, func(_ string, _ *wire.Catalog, result *wire.Result) {
		failed = failed || result.Status.HasFailed()
		verdicts = append(verdicts, result.Health...)
		if result.Error != "" {
			found.Text = result.Error
		}
	})
	timed, done := r.fleet.runner.hostTime(ctx)
	defer done()
	if err := r.fleet.playOn(look, state).run(timed); err != nil {
		return Found{}, late(timed, err)
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
