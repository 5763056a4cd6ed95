package playbooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/transport"
)

// A Turn is a play of a host that a worker takes it through, or what else a rollout wants of the host.
type Turn struct {
	Kind  TurnKind `json:"kind,omitempty"`
	Host  string   `json:"host"`
	Play  int      `json:"play"`            // its number in the run, from 0
	Later []int    `json:"later,omitempty"` // plays that are still to come for the host
	// Predicted says, in a check run, that an earlier play would have changed the host.
	Predicted bool `json:"predicted,omitempty"`
	// Follow has what commands write told as they write it.
	Follow bool `json:"follow,omitempty"`
	// Step has a person be asked before each thing that the host does.
	Step bool `json:"step,omitempty"`
	// Again says that the worker was lost that had the turn before.
	Again bool `json:"again,omitempty"`
	// Unfinished says, where it is asked what would change, that a run before has left the host in the
	// midst of the play. Gate is the number of the gate that is asked, from 0.
	Unfinished bool `json:"unfinished,omitempty"`
	Gate       int  `json:"gate,omitempty"`
	// Facts are the paths of facts that are asked for, AllFacts asks for all.
	Facts    []string `json:"facts,omitempty"`
	AllFacts bool     `json:"all_facts,omitempty"`
	Ask      *Ask     `json:"ask,omitempty"` // of an [AskTurn]
	// Left are resources of the turn's plays that an undo left as an earlier run had made them: they do not run again.
	Left []Left `json:"left,omitempty"`
	// At takes what the host is at, for the progress line; nil ignores it. It may be called late.
	At func(what string) `json:"-"`
	// Orders are what the host is to have mended meanwhile, of a [WatchTurn]; the worker gets them by [Runner.Orders].
	Orders <-chan WatchOrder `json:"-"`
}

// A Left is a resource that an undo did not change back.
type Left struct {
	Play int    `json:"play"` // its number in the run, from 0
	Type string `json:"type"`
	Name string `json:"name"`
	Run  string `json:"run"` // that has run it
}

// A TurnKind is what is to be done in a turn.
type TurnKind string

// The kinds of turns.
const (
	PlayTurn    TurnKind = ""        // the host is taken through the play
	PredictTurn TurnKind = "predict" // it tells a rollout what the play would change, and whether it is healthy
	RollTurn    TurnKind = "roll"    // it goes through the play with all that its rollout says of one host
	HealthTurn  TurnKind = "health"  // it tells, for a rollout, whether it is healthy
	GateTurn    TurnKind = "gate"    // it answers a gate of a rollout
	LoginTurn   TurnKind = "login"   // it is logged in to, and that is all
	FactsTurn   TurnKind = "facts"   // it is asked for facts that other hosts read
	SettleTurn  TurnKind = "settle"  // its lock is taken, once nothing of an earlier run is in progress
	AskTurn     TurnKind = "ask"     // it is asked something that no play is about
	WatchTurn   TurnKind = "watch"   // it is watched, with all of its plays, until the run is stopped
)

// Found is what a rollout has found out about a host.
type Found struct {
	Changes  bool             `json:"changes,omitempty"`  // the play would change something, or may
	Restarts []string         `json:"restarts,omitempty"` // what it would restart, for sure
	Sick     string           `json:"sick,omitempty"`     // the first health check that was not passed; "" is none
	Good     bool             `json:"good,omitempty"`     // the gate was passed
	Text     string           `json:"text,omitempty"`     // what the host has said then
	Open     string           `json:"open,omitempty"`     // why it is not known whether it was passed; "" if it is
	Outcome  *rollout.Outcome `json:"outcome,omitempty"`  // of a [RollTurn]
	Facts    yamlpos.Portable `json:"facts,omitzero"`     // of a [FactsTurn]
	Asked    json.RawMessage  `json:"asked,omitempty"`    // of an [AskTurn]
}

// A TurnEnd is how a turn has ended. The zero value is a host that came through well.
type TurnEnd struct {
	Begun     bool `json:"begun,omitempty"`     // something was, or may have been, begun there
	Failed    bool `json:"failed,omitempty"`    // a resource has
	Predicted bool `json:"predicted,omitempty"` // in a check run, something would change
	// Stopped says that the run was stopped before the host was done, and Rest what is missing then.
	// Killed says that it was ended by force.
	Stopped bool        `json:"stopped,omitempty"`
	Killed  bool        `json:"killed,omitempty"`
	Rest    events.Rest `json:"rest,omitzero"`
	Phase   string      `json:"phase,omitempty"` // of a rollout, that it was stopped in
	// Failure is what is told of a host that has failed as a whole; nil of any other.
	Failure *events.Carried `json:"failure,omitempty"`
	// Refused says that this is because the host, or its jump host, did not let the worker in.
	Refused bool `json:"refused,omitempty"`
	// Took is for how long the host was worked on.
	Took   time.Duration `json:"took,omitempty"`
	Phases events.Phases `json:"phases,omitzero"`
	Steps  []events.Step `json:"steps,omitempty"`
	Found  Found         `json:"found,omitzero"`
}

// Turns takes hosts through a play for a run that others decide about and tell of; all turns are of
// one play. ended is told how each has ended, by several goroutines at once. The error is that
// no host can be taken through the play.
func (r *Runner) Turns(ctx context.Context, stop <-chan struct{}, turns []Turn, ended func(host string, end TurnEnd)) error {
	values, err := r.inventoryValues(nil)
	if err != nil {
		return err
	}
	downloads := catalog.NewDownloads()
	defer downloads.Close()
	compiling := r.compiling(downloads)
	compilers, err := r.compilers(ctx, compiling, values)
	defer closeCompilers(compilers)
	parts, others, partsErr := r.rolloutParts(ctx, compiling, values)
	defer closeCompilers(others)
	if err := errors.Join(err, partsErr); err != nil {
		return err
	}
	f := &fleet{runner: r, stop: stop, states: map[string]*hostState{}, places: make(chan struct{}, r.forks()), followed: map[string]bool{}, apart: true}
	f.sessions = share.NewSessions(&f.waits)
	defer f.close()
	for i, play := range r.Plays {
		f.plays = append(f.plays, &selection{number: i, play: play, compiler: compilers[i], values: values[i], parts: parts[i], refs: play.LiteralRefs})
	}
	var hosts []string
	byHost := map[string]Turn{}
	for _, t := range turns {
		if err := f.expectTurn(t); err != nil {
			return err
		}
		hosts, byHost[t.Host] = append(hosts, t.Host), t
	}
	if err := f.askOtherFacts(ctx, turns); err != nil {
		return err
	}
	begin := func(host string, in *share.WayIn) {
		state := f.states[host]
		state.in = in
		ended(host, f.turn(ctx, state, byHost[host]))
	}
	q := share.NewQueue(hosts, begin, func() bool { return f.interrupted(ctx) })
	f.asks = &asking{ask: r.AskShared, waiting: func() {
		q.StartNext()
		r.Waiting()
	}}
	defer f.asks.telling.Wait()
	f.once = &askedOnce{asking: f.asks, ctx: ctx, may: len(turns) > 0 && turns[0].OfAPlay() && mayRunOnce(r.Plays[turns[0].Play])}
	f.sessions.Begin(hosts, q.StartNow)
	r.Step = f.asks.stepper()
	if slices.ContainsFunc(turns, func(t Turn) bool { return t.Kind == WatchTurn }) {
		q.Run(len(turns), len(turns)) // most of them only listen
	} else {
		r.fly(q)
	}
	return nil
}

// askOtherFacts asks for what the plays of turns need of other hosts, once for each of the plays.
func (f *fleet) askOtherFacts(ctx context.Context, turns []Turn) error {
	asked := map[*selection]bool{}
	for _, t := range turns {
		if !t.OfAPlay() {
			continue
		}
		plays := f.states[t.Host].plays[:1]
		if t.Kind == WatchTurn {
			plays = f.states[t.Host].plays
		}
		for _, s := range plays {
			if asked[s] {
				continue
			}
			asked[s] = true
			if err := f.runner.askOtherFacts(ctx, s, t.Host); err != nil {
				return err
			}
		}
	}
	return nil
}

// OfAPlay reports whether a turn is about a play, and not about its host alone.
func (t Turn) OfAPlay() bool { return t.Kind != LoginTurn && t.Kind != FactsTurn && t.Kind != AskTurn }

// expectTurn notes the plays of a host, the one of its turn first.
func (f *fleet) expectTurn(t Turn) error {
	host := f.runner.Inventory.Host(t.Host)
	if host == nil {
		return fmt.Errorf("unknown host %q here", t.Host)
	}
	state := newState(host, f.runner.warn, f.runner.Activity.Host(host.Name))
	state.leftover, state.left = t.Again, t.Left
	plays := f.plays
	if len(plays) == 0 && !t.OfAPlay() { // so does a command that has none
		plays = []*selection{{play: &manifest.Play{}}}
	}
	for _, number := range append([]int{t.Play}, t.Later...) {
		if number < 0 || number >= len(plays) {
			return fmt.Errorf("the host %q has a play %d, of %d", t.Host, number+1, len(plays))
		}
		state.plays = append(state.plays, plays[number])
	}
	if t.Predicted {
		state.predicted = []*hostProgram{{}}
	}
	state.client = f.runner.Connections.take(t.Host)
	if t.Step {
		state.plays[0].first = t.Host
	}
	f.states[t.Host], f.followed[t.Host] = state, t.Follow
	return nil
}

// turn does what is to be done with a host and the first of its plays.
func (f *fleet) turn(ctx context.Context, state *hostState, t Turn) TurnEnd {
	defer f.sessions.End(state.host.Name)
	p, start, before := f.playOn(state.plays[0].whole(), state), f.runner.Now(), len(state.predicted)
	p.take()
	found, err := p.carryOut(ctx, t)
	if err != nil || len(t.Later) == 0 || !f.keepFor(ctx, state) {
		state.close()
	}
	end := TurnEnd{
		Found: found,
		Begun: state.phase().begun(), Failed: state.phase().hasFailed(), Predicted: len(state.predicted) > before,
		Took: f.runner.Now().Sub(start) - state.times.idle, Phases: state.times.phases, Steps: state.times.steps,
	}
	stopped, isStopped := errors.AsType[*stoppedError](err)
	switch {
	case err == nil:
	case isStopped:
		end.Stopped, end.Rest, end.Phase = true, stopped.rest, stopped.phase
	default:
		end.Killed = f.interrupted(ctx) && errors.Is(err, context.Canceled)
		end.Failure = &events.Carried{Event: failure(p.of.play.Name, state.host.Name, err)}
		end.Refused = errors.Is(err, transport.ErrAuth)
	}
	return end
}

// keepFor keeps the connection of a host for its next turn, if there is a place.
func (f *fleet) keepFor(ctx context.Context, state *hostState) bool {
	if f.runner.Connections == nil || state.client == nil || state.phase().hasFailed() || state.over != nil || state.finishPrograms(ctx) != nil || state.dead() {
		return false
	}
	if !f.runner.Connections.keep(state.host.Name, state.client, f.runner.Dialer, f.runner.keep()) {
		return false
	}
	state.client = nil
	return true
}

// carryOut does what a turn is about.
func (p *hostPlay) carryOut(ctx context.Context, t Turn) (found Found, err error) {
	play, state := p.of.play, p.state
	r := p.fleet.rolled(p.of.selection)
	switch {
	case t.Kind == PlayTurn:
		return p.runAndPredict(ctx)
	case t.Kind == LoginTurn:
		timed, done := p.runner.hostTime(ctx)
		defer done()
		return found, late(timed, p.connect(timed))
	case t.Kind == SettleTurn:
		return found, p.takeLock(ctx)
	case t.Kind == AskTurn && t.Ask != nil:
		return p.asked(ctx, state, *t.Ask)
	case t.Kind == FactsTurn:
		return p.factsOn(ctx, state, t)
	case t.Kind == WatchTurn:
		return found, p.watchedHere(ctx)
	case r.rollout == nil, t.Kind == GateTurn && (t.Gate < 0 || t.Gate >= len(r.rollout.Gates)):
		return found, fmt.Errorf("play %q has no such rollout", play.Name)
	case t.Kind == PredictTurn:
		return r.predictOn(ctx, state, t.Unfinished)
	case t.Kind == RollTurn:
		outcome, err := r.rollOn(ctx, state)
		return Found{Outcome: &outcome}, err
	case t.Kind == HealthTurn:
		found.Sick, err = r.sickOn(ctx, state)
		return found, err
	case t.Kind == GateTurn:
		return r.gateOn(ctx, t.Gate, state)
	}
	return found, fmt.Errorf("unknown turn %q", t.Kind)
}

// runAndPredict takes the host through the play. A check run is told what a rollout wants to know.
func (p *hostPlay) runAndPredict(ctx context.Context) (found Found, err error) {
	if p.of.play.Rollout != nil && p.runner.Options.Check {
		one := *p.of
		one.heard = func(_ string, c *wire.Catalog, r *wire.Result) { found.came(c, r) }
		p = p.playOn(&one, p.state)
	}
	if p.runner.Options.CompileFirst {
		if err := p.awaitOthers(ctx); err != nil {
			return found, err
		}
	}
	err = p.run(ctx)
	return found, err
}
