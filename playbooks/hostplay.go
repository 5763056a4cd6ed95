package playbooks

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/confirm"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/session"
)

// A hostPlay is one play on one host of a fleet, or a part of a rollout, from the connection to how it has ended.
type hostPlay struct {
	*fleet
	of      *part
	state   *hostState   // state of the host; it outlives the play
	program *hostProgram // current program; nil before its start
}

// playOn returns a part of a play on a host.
func (f *fleet) playOn(of *part, state *hostState) *hostPlay {
	return &hostPlay{fleet: f, of: of, state: state}
}

// work takes the host through the play. A host that an interrupted run has not begun counts as not started; one that
// was killed without an answer has failed, because its changes are unknown.
func (p *hostPlay) work(ctx context.Context) {
	defer p.sessions.End(p.state.host.Name)
	start := p.runner.Now()
	p.take()
	found, err := process(ctx, p, PlayRequest{})
	if p.of.found != nil {
		p.of.found(p.state.host.Name, found)
	}
	p.ended(ctx, start.Add(p.state.times.queued), err)
}

// take begins the host, and releases its place among the kept connections.
func (p *hostPlay) take() {
	p.state.activity.Work()
	if p.state.phase().keeps() {
		p.unhold()
	}
	p.state.enter()
}

// leave ends the work on a host that is not done, and keeps its connection, if there is a place.
func (p *hostPlay) leave() {
	p.state.activity.Rest()
	keeps := p.hold()
	if p.state.rest(keeps); !keeps {
		p.state.close()
	}
}

// ended reports how the host, which began at start, has ended the play.
func (p *hostPlay) ended(ctx context.Context, start time.Time, err error) {
	state, play, host := p.state, p.of.play, p.state.host.Name
	p.exchange.Over(p.of.number, host)
	stopped, isStopped := errors.AsType[*stoppedError](err)
	p.once.Over(host, err != nil && !isStopped)
	state.in, state.plays = nil, state.plays[1:]
	state.times.elapsed += p.runner.Now().Sub(start)
	untouched := !state.phase().begun() && (errors.Is(err, errStopped) || p.interrupted(ctx) && errors.Is(err, context.Canceled))
	how := events.StateOK
	switch {
	case untouched:
	case err == nil && state.phase().hasFailed():
		how = events.StateFailed
	case err == nil:
	case isStopped:
		how = events.StateInterrupted
		if !state.phase().hasFailed() {
			state.to(hostInterrupted)
		}
		p.runner.Events.Report(events.Interrupted{Play: play.Name, Host: host, Rest: stopped.rest, Phase: stopped.phase})
	default:
		failed := failure(play.Name, host, err)
		next := hostLost
		how = events.StateFailed
		if _, is := failed.(events.Unreachable); is {
			next, how = hostUnreachable, events.StateUnreachable
		}
		state.to(next)
		state.activity.Lost(next == hostUnreachable)
		p.runner.Events.Report(failed)
	}
	if !untouched {
		state.ends = append(state.ends, events.PlayEnd{Number: p.of.number + 1, State: how})
	}
	if state.phase().hasFailed() && play.AnyFatal {
		p.fatal.Store(true)
	}
	last := !untouched && (state.phase().hasFailed() || len(state.plays) == 0)
	if !last {
		p.leave()
		return
	}
	if p.runner.Options.Watch == nil && (state.phase().hasFailed() || !p.lent[host]) {
		state.close()
	}
	p.hostDone(state)
}

// phase begins a phase of the play; the returned function ends it and adds its time to spent.
func (p *hostPlay) phase(name string, spent *time.Duration) (ends func()) {
	began := p.runner.Now()
	return func() { *spent += p.state.step(name, began, p.runner.Now()) }
}

// run compiles and applies the play. An error means that the host failed as a
// whole; failed resources are only noted.
func (p *hostPlay) run(ctx context.Context) error {
	compiled, remaining, err := p.ready(ctx)
	if err != nil {
		return err
	}
	p.of.mode.narrow(compiled)
	g := &stages{hostPlay: p, compiled: compiled, earlier: p.unpredicted()}
	if !p.of.mode.looks() && p.of.mode.part() == 0 {
		g.participant = p.commons.join(ctx, p, compiled)
	}
	p.state.guard = newGuard(g)
	g.equip(compiled)
	if err := g.announce(ctx); err != nil {
		return err
	}
	if compiled.Pre != "" {
		g.tell(events.Pre, compiled.Pre)
		g.flush()
	}
	if p.interrupted(ctx) {
		return &stoppedError{}
	}
	if !p.of.mode.looks() {
		p.state.begin()
	}
	defer p.phase("apply", &p.state.times.phases.Apply)()
	task := g.begin(ctx, remaining)
	p.state.in.In()
	whole, err := g.applyAll(ctx, task)
	if err != nil {
		g.abandon()
	} else {
		g.turns.Release()
	}
	err = p.state.guard.Settle(ctx, err)
	p.state.guard = nil
	if unknown, is := errors.AsType[*confirm.Unknown](err); is {
		err = &phaseError{phase: confirm.Phase, rest: g.progress.Rest(), err: unknown}
	}
	if errors.Is(err, confirm.ErrReverted) {
		p.state.fail()
		return nil
	}
	if err != nil {
		return g.lost(ctx, phased(err, g.progress.Rest()))
	}
	if g.progress.Failed && !p.of.mode.looks() && !p.of.mode.watched() {
		p.state.fail()
	}
	if g.progress.Would && p.runner.Options.Check {
		p.state.predicted = append(p.state.predicted, p.program)
	}
	if !whole {
		return &stoppedError{rest: g.progress.Rest()}
	}
	if p.runner.applies() && !g.progress.Failed && compiled.Post != "" {
		g.tell(events.Post, compiled.Post)
		g.flush()
	}
	return nil
}

// unpredicted names, in a check run, an earlier change that is not in this program's forecast: a play whose changes
// another host program has predicted. It is "" if there is none.
func (p *hostPlay) unpredicted() string {
	if p.runner.Options.Check && slices.ContainsFunc(p.state.predicted, func(other *hostProgram) bool { return other != p.program }) {
		return "an earlier play"
	}
	return ""
}

// ready starts a host program that suffices for the play, and returns the catalog and the remaining time of the host
// for the play.
func (p *hostPlay) ready(ctx context.Context) (*catalog.Compiled, session.HostTime, error) {
	timed, done := p.runner.hostTime(ctx)
	defer done()
	compiled, err := p.compiled(timed)
	if err == nil && (compiled.NeedsFull || p.of.stands() != nil) && !p.program.full {
		err = p.upgrade(timed)
	}
	if err != nil {
		return nil, session.HostTime{}, late(timed, err)
	}
	end, _ := timed.Deadline() // it has one
	limit := p.runner.Options.Deadlines.host()
	if p.state.limit > 0 {
		limit = min(limit, p.state.limit)
	}
	return compiled, session.HostTime{Limit: limit, Remaining: time.Until(end)}, nil
}

func compile(ctx context.Context, c *catalog.Compiler, h *inventory.Host, facts map[string]any) (*catalog.Compiled, error) {
	return compileHost(ctx, hostOf(c, h, facts), h, c.Compile)
}

// hostOf returns the host's data for compilation.
func hostOf(c *catalog.Compiler, h *inventory.Host, facts map[string]any) catalog.Host {
	host := catalog.Host{Name: h.Name, Facts: facts, Secrets: h.Secrets()}
	if c.Variables() == nil {
		host.Vars = h.Vars()
	} else {
		host.Layers = layersOf(h)
	}
	return host
}

func compileHost(ctx context.Context, host catalog.Host, h *inventory.Host, compile func(context.Context, catalog.Host) (*catalog.Compiled, error)) (*catalog.Compiled, error) {
	ctx, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	compiled, err := compile(ctx, host)
	if err != nil && ctx.Err() == nil { // again, with the origins of the data
		host.Vars, host.Layers = nil, layersOf(h)
		if _, explained := compile(ctx, host); explained != nil && ctx.Err() == nil {
			err = explained
		}
	}
	return compiled, err
}

// undoOn returns the undo of a play on a host, or nil.
func undoOn(play *manifest.Play, host string) *wire.Undo {
	u := play.Undo
	if u == nil {
		return nil
	}
	return &wire.Undo{Run: u.Run, Only: u.Only, Maybe: !u.Changed[host], Changed: u.Resources[host]}
}

// addOthers adds to a catalog the resources that later plays have for the host, so that the host does not undo things
// that they manage. plays are the remaining plays; the first is the play of the catalog.
func addOthers(c *wire.Catalog, plays []*selection) {
	if c.Remember == nil {
		return
	}
	for _, s := range plays[1:] {
		c.Remember.Others = append(c.Remember.Others, s.refs()...)
	}
}
