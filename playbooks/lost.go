package playbooks

import (
	"context"
	"errors"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// lost reports the commands that may have been running on a host that was lost, and returns the failure of the host
// without them. Their outcome is unknown, and nothing makes them safe to repeat.
func (g *stages) lost(ctx context.Context, failed error) error {
	pe, ok := errors.AsType[*phaseError](failed)
	if !ok || pe.phase != phaseLost && pe.phase != "deadline" && pe.phase != "protocol" || !g.runner.applies() || g.of.look != nil || g.progress.locked {
		return failed
	}
	why := "the host was lost, and the command may have been running"
	if errors.Is(context.Cause(ctx), context.Canceled) {
		why = "the run was ended, and the command may have been running"
	}
	for _, i := range g.progress.underWay() {
		e := &g.compiled.Catalog.Entries[i]
		if g.compiled.RunsOnce(i) && g.began(i) && !e.Check && !e.Monitor && !e.Excluded && !e.Hidden {
			g.result(ctx, &wire.Result{Index: i, Status: wire.Failed, Unknown: true, Error: why})
		}
	}
	g.flush()
	return &phaseError{pe.phase, pe.err, g.progress.Rest()}
}

// underWay returns the entries that may have been in progress when the last result came: the next one or, if several
// run at once, all entries that wait for no other entry.
func (p *catalogProgress) underWay() (list []int) {
	if p.next() == nil || p.killed && p.catalog.Parallel < 2 {
		return nil
	}
	c := p.catalog
	if c.Parallel < 2 {
		return []int{p.reached}
	}
	for i := p.reached; i < len(p.told) && len(list) < c.Parallel; i++ {
		waits := false
		for on := range wire.Dependencies(c.Entries, i) {
			waits = waits || !p.told[on]
		}
		if !p.told[i] && !waits && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}
