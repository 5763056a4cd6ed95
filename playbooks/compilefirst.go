package playbooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// compileFirst makes the catalogs of a batch before any is applied. It returns false
// if that has failed for a host: then nothing is applied on any. The catalogs are
// held until then, and as many connections as between plays.
func (f *fleet) compileFirst(ctx context.Context, s *selection, hosts []*inventory.Host) bool {
	f.each(ctx, hosts, false, func(state *hostState) { f.makeReady(ctx, s, state) })
	failed := 0
	for _, h := range hosts {
		if f.states[h.Name].failed {
			failed++
		}
	}
	return f.allReady(s.play, failed, len(hosts))
}

// allReady reports whether no host has failed, or else warns that the run ends.
func (f *fleet) allReady(play *manifest.Play, failed, hosts int) bool {
	if failed > 0 {
		f.runner.warn(fmt.Sprintf("play %q: %d of %d hosts could not be made ready; nothing was applied, and the run ends here", play.Name, failed, hosts))
	}
	return failed == 0
}

// makeReady makes the catalog of one host, and leaves it in its state.
func (f *fleet) makeReady(ctx context.Context, s *selection, state *hostState) {
	start := f.runner.Now()
	f.take(state)
	timed, done := f.runner.hostTime(ctx)
	_, compiled, err := f.compiled(timed, s, state)
	err = late(timed, err)
	done()
	if err != nil {
		f.ended(ctx, s, state, start, err)
		return
	}
	state.elapsed += f.runner.Now().Sub(start)
	state.compiled = compiled
	f.leave(state)
}

// compiled gives the host program for a play, and the catalog: the one that was made
// before, or a new one.
func (f *fleet) compiled(ctx context.Context, s *selection, state *hostState) (*hostProgram, *catalog.Compiled, error) {
	program, err := f.program(ctx, s.play, state)
	if err != nil {
		return nil, nil, err
	}
	if made := state.compiled; made != nil {
		state.compiled = nil
		return program, made, nil
	}
	defer f.phase(state, "compile", &state.phases.Compile)()
	state.activity.At("compiling")
	made, err := compile(ctx, s.compiler, state.host, program.facts)
	if err != nil {
		return nil, nil, errors.Join(ctx.Err(), &phaseError{phase: "compile", err: err})
	}
	return program, made, nil
}
