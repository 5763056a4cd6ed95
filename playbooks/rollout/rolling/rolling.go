package rolling

import (
	"context"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// Hosts runs on the hosts of a play what a rollout decides.
type Hosts interface {
	// Predict finds out what the play would change on hosts, and whether they are healthy. It notes that in hosts, and
	// returns when all of them have answered.
	Predict(ctx context.Context, hosts []rollout.Host)
	// Begin prepares a batch. end is called when no host of the batch is in progress.
	Begin(batch []string) (end func())
	// Roll takes a host through its part of the rollout. left reports whether the run ended before the host did. Several
	// goroutines call it at once.
	Roll(ctx context.Context, host string) (outcome rollout.Outcome, left bool)
	// Skip reports a host as failed that was not healthy before the rollout.
	Skip(ctx context.Context, host string)
}

// Probes runs the health checks of a play and of its gates. Several goroutines call it at once.
type Probes interface {
	// Healthy reports whether a host passes the health checks of the play.
	Healthy(ctx context.Context, host string) bool
	// Gate runs the check of a gate, by its number from 0. An error means that it is unknown whether the host passes.
	Gate(ctx context.Context, gate int, host string) (good bool, text string, err error)
}

// A Member is a host of the play.
type Member struct {
	Name, Group string // Group is the value of [rollout.Rules.By]; "" without
	Entered     bool   // it has not failed in an earlier play
	Done        bool   // a run that this one resumes has finished it
}

// A Rollout runs one play on its hosts in batches.
type Rollout struct {
	Play    *manifest.Play
	Number  int      // number of the play in the run, from 1
	Members []Member // all hosts of the play, in order
	Hosts   Hosts
	Probes  Probes
	Options Options
	Past    *rollout.Past // progress of the run that this one resumes; nil means none
	// Ready reports whether all hosts could be prepared; failed is the number that could not. nil without
	// --compile-first.
	Ready  func(failed int) bool
	Events *events.Stream
	Now    func() time.Time
	// Ask prompts the person at the terminal; nil without one. Steer receives commands of persons elsewhere.
	Ask   func(ctx context.Context, question string) (answer string, err error)
	Steer <-chan rollout.Request
	Stop  <-chan struct{} // closed by the first signal
}

// Options hold flags of the command line.
type Options struct {
	Run           string // id of the run
	Forks         int    // hosts in progress at once, at most
	IncludeBroken bool   // hosts that were not healthy before are changed, too
	Canary        string // only host of the first batch; "" means none
	Yes           bool   // no prompt between batches
	Hold          time.Duration
}

// A Result reports the end of a rollout.
type Result struct {
	Done        bool     // the run continues with the next play
	Stopped     bool     // the rollout stopped, and ends the run
	TakeBack    []string // hosts whose changes the undo reverts
	TakeBackAll bool     // TakeBack holds all hosts that the rollout changed
}

// A rolling is a rollout in progress. Only one goroutine uses it.
type rolling struct {
	*Rollout
	rules     *manifest.Rollout
	plan      *rollout.Plan
	conductor *rollout.Conductor
	state     rollout.State
	since     time.Time      // when state began
	ended     chan rolled    // receives hosts that have ended
	last      time.Time      // when a host was last done, or a wait ended
	over      bool           // the run ends after the hosts in progress
	undo      rollout.OnStop // undo that follows
	told      *rollout.Stop  // stop that was reported
}

func (o *Rollout) rolling() *rolling {
	return &rolling{Rollout: o, rules: o.Play.Rollout, ended: make(chan rolled)}
}

// A rolled is a host that has ended.
type rolled struct {
	host    string
	outcome rollout.Outcome
	left    bool // the run ended before the host did
}

// Run takes the play over its hosts.
func (o *Rollout) Run(ctx context.Context) Result {
	r := o.rolling()
	done := r.run(ctx)
	result := Result{Done: done, Stopped: r.over}
	if r.conductor != nil && (r.undo == rollout.UndoAll || r.undo == rollout.UndoBatch) {
		result.TakeBack, result.TakeBackAll = r.conductor.Touched(r.undo == rollout.UndoBatch), r.undo == rollout.UndoAll
	}
	return result
}

// run returns false when the run must end.
func (r *rolling) run(ctx context.Context) bool {
	r.at(rollout.Predicting)
	if r.interrupted(ctx) {
		return false
	}
	hosts := r.withOthers(r.predict(ctx))
	if r.over || r.interrupted(ctx) {
		return false
	}
	options := rollout.Options{IncludeBroken: r.Options.IncludeBroken, Canary: r.Options.Canary}
	if r.Past != nil {
		options.Begun, options.Again = r.Past.Batches, r.Past.Left
	}
	r.plan = rollout.NewPlan(r.rules.Rules, hosts, options)
	r.conductor = rollout.NewConductor(r.plan, r.Past)
	if r.plan.NoCanary != "" && (r.plan.Sick || !r.Options.Yes) {
		r.conductor.WithoutCanary()
	}
	r.tellPlan()
	if r.Ready != nil { // all hosts are checked before the first is changed, so they are one batch here
		unreachable, failed, _ := r.plan.Trouble()
		if !r.Ready(len(unreachable) + len(failed)) {
			return false
		}
	}
	if stop := r.conductor.Stopped(); stop != nil && !r.wait(ctx) {
		return false
	}
	for r.conductor.Next() {
		if !r.batch(ctx) || !r.between(ctx) {
			return false
		}
	}
	for _, name := range r.plan.LeftOut() {
		r.Hosts.Skip(ctx, name)
	}
	return true
}

// interrupted reports whether the run ends early.
func (r *rolling) interrupted(ctx context.Context) bool {
	select {
	case <-r.Stop:
		return true
	default:
		return ctx.Err() != nil
	}
}

func (r *rolling) at(s rollout.State) {
	if s != r.state {
		r.state, r.since = s, r.Now()
	}
}

// batch takes the hosts of a batch through the rollout. It returns false when the run must end.
func (r *rolling) batch(ctx context.Context) bool {
	number := r.conductor.Batch()
	names := r.plan.Batches[number-1]
	if len(names) == 0 {
		return true
	}
	end := r.Hosts.Begin(names)
	defer end()
	r.Events.Report(events.PlayStart{Play: r.Play.Name, Number: r.Number, Hosts: names, Batch: number, Batches: len(r.plan.Batches)})
	r.at(rollout.Working)
	r.last = r.Now()
	working := 0
	for {
		for working < r.Options.Forks && !r.over && !r.interrupted(ctx) {
			host := r.conductor.Begin()
			if host == "" {
				break
			}
			working++
			r.Events.Report(events.HostRolling{Play: r.Play.Name, Number: r.Number, Host: host})
			go func() {
				outcome, left := r.Hosts.Roll(ctx, host)
				r.ended <- rolled{host, outcome, left}
			}()
		}
		switch {
		case working > 0:
			r.stopping()
			if r.await(ctx) {
				working--
			}
		case r.over, r.interrupted(ctx):
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
			r.last = r.Now()
		case r.conductor.Over():
			return true
		}
	}
}

// await waits until a host has ended, a person steers, or no host has ended for too long. It reports whether a host has ended.
func (r *rolling) await(ctx context.Context) bool {
	var late <-chan time.Time
	if d := r.rules.ProgressDeadline; d > 0 && r.conductor.Stopped() == nil {
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
			r.last = r.Now()
		}
		r.Events.Report(events.HostRolled{
			Play: r.Play.Name, Number: r.Number, Host: e.host, Failed: e.outcome.Failed, Unreachable: e.outcome.Unreachable,
			Touched: e.outcome.Touched && (e.outcome.Failed || e.outcome.Unreachable), Restarted: e.outcome.Restarted,
		})
		return true
	case request := <-r.Steer:
		r.answer(request)
	case <-late:
		r.conductor.NoProgress(r.rules.ProgressDeadline)
	}
	return false
}
