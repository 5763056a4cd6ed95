package playbooks

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/confirm"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// stages are the catalogs of a play on one host, one after the other in one session, while they are applied. A
// play that uses the results of its resources has several, any other has one.
type stages struct {
	*hostPlay
	compiled    *catalog.Compiled // the current one
	progress    *catalogProgress
	notes       *nestedMessages
	participant exchange // nil if hosts exchange nothing
	others      *delegated
	turns       *share.Turns   // semaphore turns of the entries
	inside      map[int]bool   // entries that held semaphores when the host was given up
	earlier     string         // [wire.Catalog].Earlier
	pending     []events.Event // events of results that arrived together
	results     []*wire.Result // registered results, by entry
	// ask prompts a person about an entry; nil prompts no one.
	ask func(ctx context.Context, e *wire.Entry, would string) bool
}

// equip sets in a catalog what the run has to say of it.
func (g *stages) equip(compiled *catalog.Compiled) {
	s, c := g.of, &compiled.Catalog
	c.Check, c.Monitor, c.Rehearsal = s.mode.flags(&g.runner.Options)
	c.Diff = g.runner.Options.Diff && !s.mode.looks()
	c.Follow = g.followed[g.state.host.Name] && !s.mode.looks()
	if c.Lock = g.runner.lock(s.mode); c.Lock != nil {
		c.Lock.Again = c.Lock.Again || g.state.leftover
	}
	c.Once = g.runner.once(s)
	g.runner.markRan(s.selection, g.state, c)
	if e, ok := s.play.Earlier[g.state.host.Name]; ok { // an ad-hoc call has one entry
		c.Entries[0].Unmet, c.Entries[0].Refresh = e.Unmet, e.Changed
	}
	c.Earlier = g.earlier
	addOthers(c, g.state.plays)
	c.Undo = undoOn(s.play, g.state.host.Name)
	stands := s.stands()
	if stands != nil {
		c.Remember = nil
	}
	g.ask = g.runner.Step.asks(s.selection, g.state.host.Name, "", c, g.runner.Options.Catalog.Mask)
	c.Confirm = g.state.guard.Request(c)
	if stands != nil && c.Until == 0 { // else another stage follows
		*compiled = *compiled.Watching(s.number + 1)
		stands.sent(compiled)
	}
}

// begin prepares for the messages of the host, and returns the first catalog as a task of a session. remaining is the
// time of the host.
func (g *stages) begin(ctx context.Context, remaining session.HostTime) session.Task {
	play, host := g.of.play.Name, g.state.host.Name
	g.notes = newNestedMessages(g.compiled.Notes, func(kind events.MessageKind, text string) {
		if kind == events.Pre || g.runner.applies() {
			g.tell(kind, text)
		}
	})
	g.progress = newCatalogProgress(&g.compiled.Catalog)
	g.progress.look = g.of.mode.looks()
	g.state.at(g.progress)
	g.others = g.delegates(g.compiled)
	g.turns = share.NewTurns(func(index int, claims []share.Claim) *share.Turn {
		return g.commons.claim(ctx, g.hostPlay, g.compiled, index, claims)
	})
	task := session.Task{
		Compiled: g.compiled, Claim: g.turns.Claim, Granted: g.granted, Host: remaining,
		Resource: cmp.Or(g.runner.Options.Deadlines.Resource, defaultResourceTime),
		Emit:     func(r *wire.Result) { g.result(ctx, r) },
		Flush: func() {
			g.flush()
			g.state.at(g.progress)
		},
		Sync:  g.runner.Events.Sync,
		Ask:   g.ask,
		Fetch: g.commons.fetch(ctx, host, host),
		Elsewhere: func(waiting context.Context, index int, refresh bool) (result *wire.Result, here bool) {
			return g.others.run(ctx, waiting, index, refresh)
		},
		Locked: func(waits bool) { g.progress.locked = waits },
		Untold: g.untold,
	}
	if g.participant != nil {
		task.Exchange = g.participant
	}
	if !g.of.mode.looks() { // otherwise the play reports it
		task.Reverted = func(r *wire.Reverted) {
			g.pending = append(g.pending, confirm.RevertedEvent(play, host, r, g.runner.Options.Run))
		}
	}
	if stands := g.of.stands(); stands != nil {
		task.Watched = stands.told
	}
	if guard := g.state.guard; guard != nil && g.compiled.Catalog.Lock != nil {
		task.Arm, task.ArmSet, task.Armed, task.Watchdog = guard.Arm, guard.ReportArmed, guard.Awaits, confirm.Watchdog(g.runner.Events, play, host)
	}
	if g.compiled.Catalog.Follow {
		task.Output = func(o *wire.Output) { g.pending = append(g.pending, outputEvent(play, host, &g.compiled.Catalog, o)) }
	}
	return task
}

// tell reports a message of the play.
func (g *stages) tell(kind events.MessageKind, text string) {
	if !g.of.mode.watched() {
		g.pending = append(g.pending, events.Message{Play: g.of.play.Name, Host: g.state.host.Name, Kind: kind, Text: text})
	}
}

// flush reports the pending events.
func (g *stages) flush() {
	if !g.of.mode.looks() {
		g.runner.Events.Report(g.pending...)
	}
	g.pending = nil
}

// result handles the result of an entry, and reports it.
func (g *stages) result(ctx context.Context, r *wire.Result) {
	s, host, c := g.of, g.state.host.Name, &g.compiled.Catalog
	g.turns.Reported(r.Index)
	r = g.others.told(r)
	e := resultEvent(s.play.Name, host, c, g.others.checks(r.Index), r)
	r = g.register(ctx, r, &e)
	g.noteFacts(&e)
	g.progress.Note(r)
	if c.Entries[r.Index].Unselected != "" && r.Status == wire.Skipped && r.Message == "" {
		return // the run does not select it, and nothing refreshed it
	}
	g.came(r)
	told := g.runner.Options.Progress.Retold(s.number, e)
	if s.heard != nil {
		s.heard(host, c, r)
	}
	g.notes.Before(r)
	e.On, e.Once, e.Repair = g.others.on(r.Index), g.others.onceOf(r.Index), s.mode.watched()
	if e.Unknown {
		e.Hint = unknownHint(&e)
	}
	if r.Fetched {
		e.Fetched = e.Name // as it is called there
		if g.controller() == nil {
			e = g.runner.Kept(e)
		}
	}
	e.Due = c.Entries[r.Index].Unselected != "" && r.Status == wire.Skipped && r.Because != "" && !r.Unmet
	if err := g.compiled.Uncompiled(r.Index); err != nil && e.Due {
		e.Messages = append(e.Messages, events.Note{Level: "warning", Text: uncompiledText(c.Entries[r.Index].Ref(), err)})
	}
	if e.Status.HasFailed() {
		e.Written = events.PlaceOf(g.compiled.Written(r.Index))
	}
	if !told {
		g.pending = append(g.pending, e)
	}
	g.notes.After(r)
}

// came takes the result of an entry that later stages may use.
func (g *stages) came(r *wire.Result) {
	if !g.compiled.Registers(r.Index) {
		return
	}
	for len(g.results) <= r.Index {
		g.results = append(g.results, nil)
	}
	kept := *r
	kept.Diff, kept.Changes, kept.Messages = "", nil, nil
	kept.Check = g.compiled.Catalog.Check || g.compiled.Catalog.Entries[r.Index].Check // the result describes a predicted change
	if g.compiled.Catalog.Monitor {                                                    // nothing was looked at
		kept.Grade = modules.Unknown
	}
	g.results[r.Index] = &kept
}

// remain reports whether there is another stage.
func (g *stages) remain() bool {
	return g.compiled.Catalog.Until > 0 && g.progress.count() < len(g.compiled.Catalog.Entries)
}

// next puts the next stage in the place of the current one.
func (g *stages) next(c *catalog.Compiled) {
	g.of.mode.narrow(c)
	g.equip(c)
	*g.compiled = *c
	g.progress.stage()
	g.notes.stage(c.Notes)
	if g.participant != nil {
		g.participant.Stage(c)
	}
	g.others.stage(c)
}

// applyAll applies the catalog of a task, and the catalogs of later stages.
func (g *stages) applyAll(ctx context.Context, t session.Task) (whole bool, err error) {
	for {
		began, before, waited := time.Now(), g.program, g.program.session.Waited()
		whole, err := g.apply(ctx, t)
		if refused, is := errors.AsType[session.Refused](err); is && refused.Phase == "full" && !g.program.full { // the resources to be reverted need it
			if err = g.upgrade(ctx); err != nil {
				return false, err
			}
			continue
		}
		if err != nil || !whole || !g.remain() {
			return whole, err
		}
		if t.Host.Remaining -= time.Since(began); g.program == before {
			t.Host.Remaining += g.program.session.Waited() - waited
		}
		if more, err := g.advance(ctx, &t); !more {
			g.acknowledgeStages(t)
			return false, err
		}
		g.state.at(g.progress)
	}
}

// advance prepares the host for the next stage; more is false if there is none, since the run ends or the stage cannot
// be compiled.
func (g *stages) advance(ctx context.Context, t *session.Task) (more bool, err error) {
	if g.interrupted(ctx) {
		return false, nil
	}
	c, err := g.compileNext(ctx)
	if err != nil {
		return false, err
	}
	g.next(c)
	if err := g.announce(ctx); err != nil {
		return false, err
	}
	if c.NeedsFull && !g.program.full {
		if err := g.upgrade(ctx); err != nil {
			return false, err
		}
		g.compiled.Catalog.From, t.Known = 0, g.progress.again()
	}
	return true, nil
}

// acknowledgeStages informs the host that the results of all stages so far are recorded. Otherwise it would report them
// again to the next run, since the last stage, which acknowledges all of them, is missing.
func (g *stages) acknowledgeStages(t session.Task) {
	if c := &g.compiled.Catalog; c.Once != nil && c.Lock != nil && t.Sync() {
		g.program.session.Acknowledge(c.Once)
	}
}

// compileNext compiles the next stage from the results so far, while the host waits.
func (g *stages) compileNext(ctx context.Context) (*catalog.Compiled, error) {
	defer g.phase("compile", &g.state.times.phases.Compile)()
	g.state.activity.At("compiling")
	compiler := g.of.compiler
	host := hostOf(compiler, g.state.host, g.program.facts)
	host.Results = g.results
	c, err := compileHost(ctx, host, g.state.host, func(ctx context.Context, h catalog.Host) (*catalog.Compiled, error) {
		return compiler.Next(ctx, g.compiled, h)
	})
	if err != nil {
		return nil, errors.Join(ctx.Err(), &phaseError{phase: "compile", err: err})
	}
	return c, nil
}
