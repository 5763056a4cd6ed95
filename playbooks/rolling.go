package playbooks

import (
	"context"
	"errors"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// A rolling play comes over its hosts as its rollout says. Hosts are worked on at once; what becomes
// of them is decided by one goroutine, that of [fleet.rollOut], which asks the conductor.
type rolling struct {
	fleet     *fleet
	of        *selection
	rollout   *manifest.Rollout
	number    int // of the play, from 1
	plan      *rollout.Plan
	conductor *rollout.Conductor
	state     rollout.State
	since     time.Time      // of the state
	ended     chan rolled    // hosts that have
	last      time.Time      // a host got done, or waiting ended
	over      bool           // the run ends behind those that are at work
	undo      rollout.OnStop // what is to be taken back then
	told      *rollout.Stop  // that has been reported
}

func (f *fleet) rolling(s *selection) *rolling {
	return &rolling{fleet: f, of: s, rollout: s.play.Rollout, number: s.number + 1, ended: make(chan rolled)}
}

// A rolled host has ended.
type rolled struct {
	host    string
	outcome rollout.Outcome
	left    bool // in the midst of it, or before, since the run ends
}

// rollOut takes a play over its hosts. It returns false when the run must end.
func (f *fleet) rollOut(ctx context.Context, s *selection, alive []*inventory.Host) bool {
	r := f.rolling(s)
	r.at(rollout.Predicting)
	defer r.tellUndo()
	f.otherFacts(ctx, s)
	if f.interrupted(ctx) {
		return false
	}
	hosts := r.withOthers(alive, r.predict(ctx, without(alive, s.done)))
	if r.over || f.interrupted(ctx) {
		return false
	}
	past := r.past()
	options := rollout.Options{IncludeBroken: f.runner.Options.IncludeBroken, Canary: f.runner.Options.Canary}
	if past != nil {
		options.Begun, options.Again = past.Batches, past.Left
	}
	r.plan = rollout.NewPlan(r.rollout.Rules, hosts, options)
	r.conductor = rollout.NewConductor(r.plan, past)
	if r.plan.NoCanary != "" && (r.plan.Sick || !f.runner.Options.Yes) {
		r.conductor.WithoutCanary()
	}
	r.tellPlan()
	if f.runner.Options.CompileFirst && !r.allReady(len(alive)) {
		return false
	}
	if stop := r.conductor.Stopped(); stop != nil && !r.wait(ctx) {
		return false
	}
	for r.conductor.Next() {
		if !r.batch(ctx) || !r.behind(ctx) {
			return false
		}
	}
	s.begun = true // also if nothing was to be changed
	r.leaveOut(ctx)
	return true
}

// allReady is --compile-first: all hosts of a rollout have been asked before the first is changed, so
// they are one batch here. It returns false if one could not be made ready.
func (r *rolling) allReady(hosts int) bool {
	unreachable, failed, _ := r.plan.Trouble()
	return r.fleet.allReady(r.of.play, len(unreachable)+len(failed), hosts)
}

// leaveOut has hosts fail that something would have changed on, and that were left as they are since
// they were not healthy before.
func (r *rolling) leaveOut(ctx context.Context) {
	for _, name := range r.plan.LeftOut() {
		p := r.fleet.playOn(r.of.whole(), r.fleet.states[name])
		p.take()
		p.ended(ctx, r.fleet.runner.Now(), &phaseError{phase: "soak", err: errLeftOut})
	}
}

var errLeftOut = errors.New("skipped: it was not healthy before the rollout; to include it, pass --include-broken")

// withOthers has those among the hosts of the play, too, that the run before is done with, since shares
// are of all of them, and those that have failed in an earlier play: how they are, nobody knows.
func (r *rolling) withOthers(alive []*inventory.Host, hosts []rollout.Host) []rollout.Host {
	entered := setOf(names(alive))
	all := make([]rollout.Host, 0, len(r.of.hosts))
	for _, h := range r.of.hosts {
		group, _ := groupOf(h, r.rollout.By)
		switch {
		case !entered[h.Name] && r.of.play.Undo == nil:
			all = append(all, rollout.Host{Name: h.Name, Group: group, Broken: true})
		case !entered[h.Name]: // that it cannot be taken back there is no reason to leave others as they are
		case r.of.done[h.Name]:
			all = append(all, rollout.Host{Name: h.Name, Group: group, Done: true})
		default:
			all, hosts = append(all, hosts[0]), hosts[1:]
		}
	}
	return all
}

func (r *rolling) at(s rollout.State) {
	if s != r.state {
		r.state, r.since = s, r.fleet.runner.Now()
	}
}

// past is what the run had come to that is gone on with; nil if there was none.
func (r *rolling) past() *rollout.Past {
	if p := r.fleet.runner.Options.Progress; p != nil {
		return p.Plays[r.of.number].Rollout
	}
	return nil
}

// batch has the hosts of a batch worked on. It returns false when the run must end.
func (r *rolling) batch(ctx context.Context) bool {
	f, number := r.fleet, r.conductor.Batch()
	names := r.plan.Batches[number-1]
	if len(names) == 0 {
		return true
	}
	r.of.begun = true
	f.exchange.BatchBegins(r.of.number, names)
	f.runner.Events.Report(events.PlayStart{Play: r.of.play.Name, Number: r.number, Hosts: names, Batch: number, Batches: len(r.plan.Batches)})
	alone := func(string) {} // out of turn, nobody begins
	f.sessions.Begin(names, alone)
	f.once.Begin(names, false, alone)
	defer f.sessions.End(names...)
	r.at(rollout.Working)
	r.last = f.runner.Now()
	working := 0
	for {
		for working < f.runner.forks() && !r.over && !f.interrupted(ctx) {
			host := r.conductor.Begin()
			if host == "" {
				break
			}
			working++
			f.runner.Events.Report(events.HostRolling{Play: r.of.play.Name, Number: r.number, Host: host})
			go func() { r.ended <- r.work(ctx, f.states[host]) }()
		}
		switch {
		case working > 0:
			r.stopping()
			if r.await(ctx) {
				working--
			}
		case r.over, f.interrupted(ctx):
			return false
		case r.conductor.Stuck():
			if r.lookAgain(ctx); r.conductor.Stuck() {
				r.conductor.NoPlaces()
			}
		case r.conductor.Stopped() != nil:
			if !r.wait(ctx) {
				return false
			}
			r.at(rollout.Working)
			r.last = f.runner.Now()
		case r.conductor.Over():
			return true
		}
	}
}

// await waits until a host has ended, a person says something, or no host has for too long. It reports
// whether a host has ended.
func (r *rolling) await(ctx context.Context) bool {
	var late <-chan time.Time
	if d := r.rollout.ProgressDeadline; d > 0 && r.conductor.Stopped() == nil {
		timer := time.NewTimer(time.Until(r.last.Add(d)))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case e := <-r.ended:
		if e.left {
			r.conductor.Leave(e.host, e.outcome.Touched)
			return true
		}
		r.conductor.End(e.host, e.outcome)
		if !e.outcome.Failed && !e.outcome.Unreachable {
			r.last = r.fleet.runner.Now()
		}
		r.fleet.runner.Events.Report(events.HostRolled{
			Play: r.of.play.Name, Number: r.number, Host: e.host, Failed: e.outcome.Failed, Unreachable: e.outcome.Unreachable,
			Touched: e.outcome.Touched && (e.outcome.Failed || e.outcome.Unreachable), Restarted: e.outcome.Restarted,
		})
		return true
	case request := <-r.fleet.runner.Steer:
		r.answer(request)
	case <-late:
		r.conductor.NoProgress(r.rollout.ProgressDeadline)
	}
	return false
}

// work takes a host through its part of the rollout.
func (r *rolling) work(ctx context.Context, state *hostState) rolled {
	f := r.fleet
	defer f.sessions.End(state.host.Name)
	p, start := f.playOn(r.of.whole(), state), f.runner.Now()
	p.take()
	outcome, err := r.rollOn(ctx, state)
	e := rolled{host: state.host.Name, outcome: outcome}
	e.left = errors.Is(err, errStopped) || f.interrupted(ctx) && errors.Is(err, context.Canceled)
	untouched := e.left && !state.phase.begun()
	p.ended(ctx, start.Add(state.times.queued), err)
	if untouched {
		state.plays = append([]*selection{r.of}, state.plays...)
	}
	return e
}

// tellPlan tells what the rollout will do, and what restarts for sure.
func (r *rolling) tellPlan() {
	p := r.plan
	e := events.RolloutPlan{Play: r.of.play.Name, Number: r.number, Stable: p.Stable(), Rules: rulesOf(r.rollout)}
	e.Unreachable, e.Failed, e.Broken = p.Trouble()
	if most := p.Rules.MaxUnavailable; most != nil {
		e.By, e.MaxUnavailable = p.Rules.By, most.String()
	}
	e.Harm, e.Reckoning = p.Harm(r.fleet.runner.forks())
	for _, names := range p.Batches {
		b := events.RolloutBatch{Hosts: append([]string{}, names...), AtOnce: p.AtOnce(names, r.fleet.runner.forks())}
		refs, hosts := p.Restarting(names)
		for _, ref := range refs {
			b.Restarts = append(b.Restarts, events.RolloutRestart{Resource: ref, Hosts: hosts[ref]})
		}
		e.Batches = append(e.Batches, b)
	}
	r.fleet.runner.Events.Report(e)
}

// restarts reports whether a result says that something was restarted because of another resource.
func restarts(r *wire.Result) bool { return r.Refreshed && r.Status == wire.Changed }
