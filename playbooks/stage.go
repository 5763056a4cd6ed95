package playbooks

import (
	"context"
	"errors"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/session"
)

// stages are a play on one host that uses the results of its resources: the catalogs of all its
// stages, one after the other in one session. A play that uses none has one stage.
type stages struct {
	compiled    *catalog.Compiled // the current one
	progress    *catalogProgress
	notes       *nestedMessages
	participant exchange // nil if hosts exchange nothing
	others      *delegated
	equip       func(*catalog.Compiled) func(context.Context, *wire.Entry, string) bool

	results []*wire.Result // by entry, of those that are registered
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
	kept.Check = g.compiled.Catalog.Check || g.compiled.Catalog.Entries[r.Index].Check // what it says then is what it would say
	kept.Uncertain = kept.Uncertain || g.compiled.Catalog.Monitor                      // nothing was looked at
	g.results[r.Index] = &kept
}

// remain reports whether there is another stage.
func (g *stages) remain() bool {
	return g.compiled.Catalog.Until > 0 && g.progress.count() < len(g.compiled.Catalog.Entries)
}

// next puts the next stage in the place of the current one.
func (g *stages) next(c *catalog.Compiled) {
	g.equip(c)
	*g.compiled = *c
	g.progress.stage()
	g.notes.stage(c.Notes)
	if g.participant != nil {
		g.participant.Stage(c)
	}
	g.others.stage(c)
}

// applyStages applies the catalog of a task, and of the stages that follow.
func (f *fleet) applyStages(ctx context.Context, s *selection, state *hostState, program *hostProgram, t session.Task, g *stages) (last *hostProgram, whole bool, err error) {
	for {
		began, waited := time.Now(), program.session.Waited()
		fresh, whole, err := f.apply(ctx, s, state, program, t, g.progress)
		if refused, is := errors.AsType[session.Refused](err); is && refused.Phase == "full" && !fresh.full { // what is taken back needs it
			if program, err = f.upgrade(ctx, s.play, state, fresh); err != nil {
				return fresh, false, err
			}
			continue
		}
		if err != nil || !whole || !g.remain() {
			return fresh, whole, err
		}
		if t.Host.Remaining -= time.Since(began); fresh == program {
			t.Host.Remaining += program.session.Waited() - waited
		}
		if program = fresh; f.interrupted(ctx) {
			return program, false, nil
		}
		c, err := f.nextStage(ctx, s, state, program, g)
		if err != nil {
			return program, false, err
		}
		g.next(c)
		if c.NeedsFull && !program.full {
			if program, err = f.upgrade(ctx, s.play, state, program); err != nil {
				return program, false, err
			}
			g.compiled.Catalog.From, t.Known = 0, g.progress.again()
		}
		state.at(g.progress)
	}
}

// nextStage compiles the next stage from the results so far, while the host waits.
func (f *fleet) nextStage(ctx context.Context, s *selection, state *hostState, program *hostProgram, g *stages) (*catalog.Compiled, error) {
	defer f.phase(state, "compile", &state.phases.Compile)()
	state.activity.At("compiling")
	host := hostOf(s.compiler, state.host, program.facts)
	host.Results = g.results
	c, err := compileHost(ctx, host, state.host, func(ctx context.Context, h catalog.Host) (*catalog.Compiled, error) {
		return s.compiler.Next(ctx, g.compiled, h)
	})
	if err != nil {
		return nil, errors.Join(ctx.Err(), &phaseError{phase: "compile", err: err})
	}
	return c, nil
}
