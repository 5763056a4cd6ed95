package playbooks

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/session"
)

// playOn compiles and applies the play. An error means that the host failed as a
// whole; failed resources are only noted.
func (f *fleet) playOn(ctx context.Context, s *selection, state *hostState) error {
	if f.goesAway(state) {
		found, err := f.away(ctx, s, state, Turn{})
		if s.found != nil {
			s.found(state.host.Name, found)
		}
		return err
	}
	program, compiled, remaining, err := f.ready(ctx, s, state)
	if err != nil {
		return err
	}
	if s.look.watches() || s.repair != nil {
		leaveOutOthers(compiled)
	}
	s.repair.hold(compiled)
	participant := f.join(ctx, s, state.host.Name, compiled)
	earlier := state.unpredicted(program, f.runner.Options.Check)
	guard := f.guard(s, state, program, compiled)
	equip := func(c *catalog.Compiled) func(context.Context, *wire.Entry, string) bool {
		ask := f.equip(&c.Catalog, s, state, earlier)
		c.Catalog.Confirm = guard.asks(&c.Catalog)
		if s.look.watches() && c.Catalog.Until == 0 { // else another stage follows
			*c = *c.Watching(s.number + 1)
			s.look.sent(c)
		}
		return ask
	}
	ask := equip(compiled)
	var pending []events.Event // of results that have come together
	flush := func() {
		if s.look == nil {
			f.runner.Events.Report(pending...)
		}
		pending = nil
	}
	tell := func(kind events.MessageKind, text string) {
		if s.repair == nil {
			pending = append(pending, events.Message{Play: s.play.Name, Host: state.host.Name, Kind: kind, Text: text})
		}
	}
	if compiled.Pre != "" {
		tell(events.Pre, compiled.Pre)
		flush()
	}
	if f.interrupted(ctx) {
		return &stoppedError{}
	}
	state.begun = state.begun || s.look == nil
	notes := newNestedMessages(compiled.Notes, func(kind events.MessageKind, text string) {
		if kind == events.Pre || f.runner.applies() {
			tell(kind, text)
		}
	})
	progress := newCatalogProgress(&compiled.Catalog)
	progress.look = s.look != nil
	state.at(progress)
	guard.follow(progress)
	defer f.phase(state, "apply", &state.phases.Apply)()
	others := f.delegates(s, state.host.Name, compiled)
	stages := &stages{compiled: compiled, progress: progress, notes: notes, participant: participant, others: others, equip: equip}
	task := session.Task{
		Compiled: compiled, Claim: f.claim(ctx, state.host.Name), Host: remaining,
		Resource: cmp.Or(f.runner.Options.Deadlines.Resource, defaultResourceTime),
		Emit: func(r *wire.Result) {
			r = others.told(r)
			e := resultEvent(s.play.Name, state.host.Name, &compiled.Catalog, others.checks(r.Index), r)
			r = f.register(ctx, s, compiled, r, &e)
			progress.Note(r)
			stages.came(r)
			told := f.runner.Options.Progress.Retold(s.number, e)
			if s.heard != nil {
				s.heard(state.host.Name, &compiled.Catalog, r)
			}
			notes.Before(r)
			e.On, e.Once, e.Repair = others.on(r.Index), others.onceOf(r.Index), s.repair != nil
			if r.Fetched {
				e.Fetched = e.Name // as it is called there
				if f.asks == nil {
					e = f.runner.Kept(e)
				}
			}
			if e.Status.HasFailed() {
				e.Written = compiled.Written(r.Index)
			}
			if !told {
				pending = append(pending, e)
			}
			notes.After(r)
		},
		Flush: func() {
			flush()
			state.at(progress)
		},
		Sync:  f.runner.Events.Sync,
		Ask:   ask,
		Fetch: f.fetch(ctx, state.host.Name, state.host.Name),
		Elsewhere: func(waiting context.Context, index int, refresh bool) (result *wire.Result, here bool) {
			return others.run(ctx, waiting, index, refresh)
		},
		Locked: func(waits bool) { progress.locked = waits },
		Untold: func(u *wire.Untold) {
			if e, remains := f.untold(s, state.host.Name, u, progress); remains {
				pending = append(pending, e)
			}
		},
	}
	if participant != nil {
		task.Exchange = participant
	}
	if s.look == nil { // else the play tells it
		task.Reverted = func(r *wire.Reverted) {
			pending = append(pending, revertedEvent(s.play.Name, state.host.Name, r, f.runner.Options.Run))
		}
	}
	if s.look.watches() {
		task.Watched = s.look.told
	}
	if guard != nil {
		task.Arm, task.Armed = guard.arm, guard.awaits
	}
	if compiled.Catalog.Follow {
		task.Output = func(o *wire.Output) {
			pending = append(pending, outputEvent(s.play.Name, state.host.Name, &compiled.Catalog, o))
		}
	}
	state.in.In()
	program, whole, err := f.applyStages(ctx, s, state, program, task, stages)
	if err = guard.settle(ctx, err); errors.Is(err, errTakenBack) {
		state.failed = true
		return nil
	}
	if err != nil {
		return phased(err, progress.Rest())
	}
	if s.look == nil {
		state.failed = state.failed || progress.Failed
	}
	if progress.Would && f.runner.Options.Check {
		state.predicted = append(state.predicted, program)
	}
	if !whole {
		return &stoppedError{rest: progress.Rest()}
	}
	if f.runner.applies() && !progress.Failed && compiled.Post != "" {
		tell(events.Post, compiled.Post)
		flush()
	}
	return nil
}

// equip sets in a catalog what the run has to say of it, and gives what asks a person about its
// entries. earlier is [wire.Catalog].Earlier.
func (f *fleet) equip(c *wire.Catalog, s *selection, state *hostState, earlier string) (ask func(context.Context, *wire.Entry, string) bool) {
	c.Check, c.Monitor, c.Rehearsal = f.runner.mode(s)
	c.Diff = f.runner.Options.Diff && s.look == nil
	c.Follow = f.followed[state.host.Name] && s.look == nil
	if c.Lock = f.runner.lock(s); c.Lock != nil {
		c.Lock.Again = c.Lock.Again || state.again
	}
	c.Once = f.runner.once(s)
	c.Earlier = earlier
	addOthers(c, state.plays)
	c.Undo = undoOn(s.play, state.host.Name)
	if s.look.watches() {
		c.Remember = nil
	}
	return f.runner.Step.asks(s, state.host.Name, "", c, f.runner.Options.Catalog.Mask)
}

// ready gives the host program that suffices for a play, the catalog, and what remains of
// the host's time for the play.
func (f *fleet) ready(ctx context.Context, s *selection, state *hostState) (*hostProgram, *catalog.Compiled, session.HostTime, error) {
	timed, done := f.runner.hostTime(ctx)
	defer done()
	program, compiled, err := f.compiled(timed, s, state)
	if err == nil && (compiled.NeedsFull || s.look.watches()) && !program.full {
		program, err = f.upgrade(timed, s.play, state, program)
	}
	if err != nil {
		return nil, nil, session.HostTime{}, late(timed, err)
	}
	end, _ := timed.Deadline() // it has one
	limit := f.runner.Options.Deadlines.host()
	if state.limit > 0 {
		limit = min(limit, state.limit)
	}
	return program, compiled, session.HostTime{Limit: limit, Remaining: time.Until(end)}, nil
}

func compile(ctx context.Context, c *catalog.Compiler, h *inventory.Host, facts map[string]any) (*catalog.Compiled, error) {
	return compileHost(ctx, hostOf(c, h, facts), h, c.Compile)
}

// hostOf is what compilation knows of a host.
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
	if err != nil && ctx.Err() == nil { // once more, with what says where the data is from
		host.Vars, host.Layers = nil, layersOf(h)
		if _, explained := compile(ctx, host); explained != nil && ctx.Err() == nil {
			err = explained
		}
	}
	return compiled, err
}

// undoOn is what a play takes back on a host; nil is nothing.
func undoOn(play *manifest.Play, host string) *wire.Undo {
	u := play.Undo
	if u == nil {
		return nil
	}
	return &wire.Undo{Run: u.Run, Only: u.Only, Maybe: !u.Changed[host]}
}

// addOthers adds to a catalog which resources later plays have for the host: what they
// look after is not undone. plays are those still to come, the one of the catalog first.
func addOthers(c *wire.Catalog, plays []*selection) {
	if c.Remember == nil {
		return
	}
	for _, s := range plays[1:] {
		c.Remember.Others = append(c.Remember.Others, s.refs()...)
	}
}
