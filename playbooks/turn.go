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
	// Predicted reports, in a check run, that an earlier play would have changed the host.
	Predicted bool `json:"predicted,omitempty"`
	// Follow requests the output of commands as it is written.
	Follow bool `json:"follow,omitempty"`
	// Step requests a prompt before each step of the host.
	Step bool `json:"step,omitempty"`
	// Again reports that the worker that had this turn before was lost.
	Again bool `json:"again,omitempty"`
	// Unfinished reports, in a [PredictTurn], that an earlier run did not finish the play on the host. Gate is the
	// number of the gate in a [GateTurn], from 0.
	Unfinished bool `json:"unfinished,omitempty"`
	Gate       int  `json:"gate,omitempty"`
	// Facts are the paths of the requested facts. AllFacts requests all facts.
	Facts    []string `json:"facts,omitempty"`
	AllFacts bool     `json:"all_facts,omitempty"`
	Ask      *Ask     `json:"ask,omitempty"` // query of an [AskTurn]
	// Left are resources that an earlier run applied and an undo could not reverse. They do not run again.
	Left []Left `json:"left,omitempty"`
	// At receives the current step of the host, for the progress line; nil ignores it. The call may be late.
	At func(what string) `json:"-"`
	// Orders are the repairs of the host in a [WatchTurn]. The worker receives them from [Runner.Orders].
	Orders <-chan WatchOrder `json:"-"`
}

// A Left is a resource that an undo did not change back.
type Left struct {
	Play int    `json:"play"` // its number in the run, from 0
	Type string `json:"type"`
	Name string `json:"name"`
	Run  string `json:"run"` // id of the run that applied it
}

// A TurnKind is the kind of work in a turn.
type TurnKind string

// The kinds of turns.
const (
	PlayTurn    TurnKind = ""        // the host is taken through the play
	PredictTurn TurnKind = "predict" // predicts for a rollout what the play would change, and checks the health of the host
	RollTurn    TurnKind = "roll"    // applies the play with the steps of its rollout for one host
	HealthTurn  TurnKind = "health"  // checks the health of the host, for a rollout
	GateTurn    TurnKind = "gate"    // it answers a gate of a rollout
	LoginTurn   TurnKind = "login"   // only logs in to the host
	FactsTurn   TurnKind = "facts"   // gathers facts that other hosts read
	SettleTurn  TurnKind = "settle"  // its lock is taken, once nothing of an earlier run is in progress
	AskTurn     TurnKind = "ask"     // sends the host a query that belongs to no play
	WatchTurn   TurnKind = "watch"   // watches the host, with all its plays, until the run is stopped
)

// Found has the results of a rollout's questions about a host.
type Found struct {
	Changes  bool             `json:"changes,omitempty"`  // the play would change something, or may
	Restarts []string         `json:"restarts,omitempty"` // services that the play would certainly restart
	Sick     string           `json:"sick,omitempty"`     // the first failed health check; "" means none
	Good     bool             `json:"good,omitempty"`     // the gate was passed
	Text     string           `json:"text,omitempty"`     // text of the gate's result
	Open     string           `json:"open,omitempty"`     // why it is not known whether it was passed; "" if it is
	Outcome  *rollout.Outcome `json:"outcome,omitempty"`  // result of a [RollTurn]
	Facts    yamlpos.Portable `json:"facts,omitzero"`     // result of a [FactsTurn]
	Asked    json.RawMessage  `json:"asked,omitempty"`    // result of an [AskTurn]
}

// A TurnEnd is the end of a turn. The zero value means that the host succeeded.
type TurnEnd struct {
	Begun     bool `json:"begun,omitempty"`     // something was, or may have been, begun there
	Failed    bool `json:"failed,omitempty"`    // a resource has
	Predicted bool `json:"predicted,omitempty"` // in a check run, something would change
	// Stopped reports that the run was stopped before the host finished; Rest is the unfinished work. Killed is set if
	// the turn was killed.
	Stopped bool        `json:"stopped,omitempty"`
	Killed  bool        `json:"killed,omitempty"`
	Rest    events.Rest `json:"rest,omitzero"`
	Phase   string      `json:"phase,omitempty"` // phase of the rollout in which the host was stopped
	// Failure is the event of a failed host; nil if the host did not fail as a whole.
	Failure *events.Carried `json:"failure,omitempty"`
	// Refused reports that the host, or its jump host, refused the login of the worker.
	Refused bool `json:"refused,omitempty"`
	// Took is the time during which the host was in progress.
	Took   time.Duration `json:"took,omitempty"`
	Phases events.Phases `json:"phases,omitzero"`
	Steps  []events.Step `json:"steps,omitempty"`
	Found  Found         `json:"found,omitzero"`
}

// Turns applies turns of one play to hosts, for the coordinator of the run. ended receives the end of each turn, from
// several goroutines at once. An error means that no host can run the play.
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

// askOtherFacts requests the facts of other hosts that the plays of turns read, once for each play.
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

// turn processes one turn of a host.
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

// runAndPredict runs the play on the host. In a check run, it also collects what a rollout wants to know.
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
