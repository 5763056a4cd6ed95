package playbooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/transport"
)

// A Turn is a request for one host, which a worker processes.
type Turn struct {
	Request Request `json:"-"` // in JSON an object, see requestKinds
	Host    string  `json:"host"`
	Play    int     `json:"play"`            // its number in the run, from 0
	Later   []int   `json:"later,omitempty"` // plays that are still to come for the host
	// Predicted reports, in a check run, that an earlier play would have changed the host.
	Predicted bool `json:"predicted,omitempty"`
	// Follow requests the output of commands as it is written.
	Follow bool `json:"follow,omitempty"`
	// Step requests a prompt before each step of the host.
	Step bool `json:"step,omitempty"`
	// Again reports that the worker that had this turn before was lost.
	Again bool `json:"again,omitempty"`
	// Left are resources that an earlier run applied and an undo could not reverse. They do not run again.
	Left []Left `json:"left,omitempty"`
	// At receives the current step of the host, for the progress line; nil ignores it. The call may be late.
	At func(what string) `json:"-"`
}

// A Left is a resource that an undo did not change back.
type Left struct {
	Play int    `json:"play"` // its number in the run, from 0
	Type string `json:"type"`
	Name string `json:"name"`
	Run  string `json:"run"` // id of the run that applied it
}

// A Request is work on a host. requestKinds lists the types.
type Request any

// A subject is the data that a request needs: its host, also a play of it, or also the rollout of the play.
type subject int

const (
	aHost subject = iota
	aPlay
	aRollout
)

// A requestKind is a type of requests. A worker processes them with do, which returns the result, and the coordinator
// checks the result.
type requestKind struct {
	kind
	about subject
	do    func(ctx context.Context, p *hostPlay, q Request) (result json.RawMessage, err error)
	check func(result json.RawMessage) error
}

var requestKinds = map[string]requestKind{
	"play":      requestOf(aPlay, PlayRequest.do, nil),
	"predict":   requestOf(aRollout, PredictRequest.do, func(r PredictResult) error { return checkText("a failed health check", r.Sick) }),
	"roll":      requestOf(aRollout, RollRequest.do, nil),
	"health":    requestOf(aRollout, HealthRequest.do, func(sick string) error { return checkText("a failed health check", sick) }),
	"gate":      requestOf(aRollout, GateRequest.do, func(r GateResult) error { return checkText("the answer of a gate", r.Text, r.Open) }),
	"settle":    requestOf(aPlay, SettleRequest.do, nil),
	"watch":     requestOf(aPlay, WatchRequest.do, nil),
	"login":     requestOf(aHost, LoginRequest.do, nil),
	"facts":     queryOf(FactsQuery.read),
	"footprint": queryOf(FootprintQuery.read),
}

// nothing is the result of requests without one.
type nothing struct{}

// requestOf returns the kind of a request with a result. A nil check accepts each result.
func requestOf[Q, R any](about subject, do func(Q, context.Context, *hostPlay) (R, error), check func(R) error) requestKind {
	return requestKind{
		kind: kind{reflect.TypeFor[Q]()}, about: about,
		do: func(ctx context.Context, p *hostPlay, q Request) (json.RawMessage, error) {
			result, err := do(q.(Q), ctx, p)
			text, wrong := json.Marshal(result)
			return text, errors.Join(err, wrong)
		},
		check: func(text json.RawMessage) error {
			var result R
			if err := decodeStrictly(text, &result); err != nil || check == nil {
				return err
			}
			return check(result)
		},
	}
}

// queryOf returns the kind of a query of a host.
func queryOf[Q, R any](read func(Q, context.Context, *Runner, *inventory.Host) (R, error)) requestKind {
	return requestOf(aHost, func(q Q, ctx context.Context, p *hostPlay) (R, error) {
		ctx, cancel := p.untilStopped(ctx)
		defer cancel()
		result, err := read(q, ctx, p.runner, p.state.host)
		if err != nil { // the play has no part in it
			err = &toldFailure{failure("", p.state.host.Name, err)}
		}
		return result, err
	}, nil)
}

// Kind returns the name of the request; "" means unknown.
func (t Turn) Kind() string {
	name, _, _ := kindOf(requestKinds, t.Request)
	return name
}

// OfAPlay reports whether a turn is about a play, and not about its host alone.
func (t Turn) OfAPlay() bool {
	_, of, _ := kindOf(requestKinds, t.Request)
	return of.about != aHost
}

// turnJSON is a turn in JSON.
type turnJSON struct {
	turnFields
	Request json.RawMessage `json:"request"`
}

type turnFields Turn

// MarshalJSON implements [json.Marshaler].
func (t Turn) MarshalJSON() ([]byte, error) {
	request, err := encodeKind(requestKinds, t.Request)
	if err != nil {
		return nil, err
	}
	return json.Marshal(turnJSON{turnFields(t), request})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Turn) UnmarshalJSON(text []byte) (err error) {
	var v turnJSON
	if err := decodeStrictly(text, &v); err != nil {
		return err
	}
	*t = Turn(v.turnFields)
	t.Request, err = decodeKind[Request](requestKinds, v.Request)
	return err
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
	Took   time.Duration   `json:"took,omitempty"`
	Phases events.Phases   `json:"phases,omitzero"`
	Steps  []events.Step   `json:"steps,omitempty"`
	Result json.RawMessage `json:"result,omitempty"` // result of the request; empty if no worker has processed it
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
	asks := &asking{Controller: r.Controller, waiting: func() {
		q.StartNext()
		r.Controller.Waiting()
	}}
	defer asks.telling.Wait()
	f.commons, f.once = asks, &askedOnce{asking: asks, ctx: ctx, may: len(turns) > 0 && turns[0].OfAPlay() && mayRunOnce(r.Plays[turns[0].Play])}
	f.sessions.Begin(hosts, q.StartNow)
	r.Step = asks.stepper()
	if slices.ContainsFunc(turns, Requests[WatchRequest]) {
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
		if Requests[WatchRequest](t) {
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

// Requests reports whether the request of a turn has a type.
func Requests[Q any](t Turn) bool {
	_, is := t.Request.(Q)
	return is
}

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
	result, err := p.request(ctx, t.Request)
	if err != nil || len(t.Later) == 0 || !f.keepFor(ctx, state) {
		state.close()
	}
	end := TurnEnd{
		Result: result,
		Begun:  state.phase().begun(), Failed: state.phase().hasFailed(), Predicted: len(state.predicted) > before,
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

// request processes the request of a turn.
func (p *hostPlay) request(ctx context.Context, q Request) (json.RawMessage, error) {
	_, of, err := kindOf(requestKinds, q)
	if err == nil && of.about == aRollout && p.of.play.Rollout == nil {
		err = fmt.Errorf("play %q has no rollout", p.of.play.Name)
	}
	if err != nil {
		return nil, err
	}
	return of.do(ctx, p, q)
}

// PlayRequest applies, or checks, the play.
type PlayRequest struct{}

// A Prediction lists, in a check run, the effects of a play that has a rollout.
type Prediction struct {
	Changes        bool     `json:"changes,omitempty"`         // the play would change something, or may
	Restarts       []string `json:"restarts,omitempty"`        // services that the play would certainly restart
	LikelyRestarts []string `json:"likely_restarts,omitempty"` // services that it would likely restart
}

func (PlayRequest) do(ctx context.Context, p *hostPlay) (found Prediction, err error) {
	if p.of.play.Rollout != nil && p.runner.Options.Check {
		one := *p.of
		one.heard = func(_ string, c *wire.Catalog, r *wire.Result) { found.came(c, r) }
		p = p.playOn(&one, p.state)
	}
	if p.runner.Options.CompileFirst && p.controller() != nil {
		if err := p.awaitOthers(ctx); err != nil {
			return found, err
		}
	}
	err = p.run(ctx)
	return found, err
}

// LoginRequest only logs in to the host.
type LoginRequest struct{}

func (LoginRequest) do(ctx context.Context, p *hostPlay) (nothing, error) {
	timed, done := p.runner.hostTime(ctx)
	defer done()
	return nothing{}, late(timed, p.connect(timed))
}
