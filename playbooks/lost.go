package playbooks

import (
	"context"
	"errors"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// lost reports what is known of a host that was lost, and returns the failure of the host without it: the results of
// resources that ran for it on other hosts, and the commands that may have been running. The outcome of a command is
// unknown, and nothing makes it safe to repeat.
func (g *stages) lost(ctx context.Context, failed error) error {
	pe, ok := errors.AsType[*phaseError](failed)
	if !ok || pe.phase != phaseLost && pe.phase != "deadline" && pe.phase != "protocol" || !g.runner.applies() || g.of.look != nil || g.progress.locked {
		return failed
	}
	why := "the host was lost, and the command may have been running"
	if errors.Is(context.Cause(ctx), context.Canceled) {
		why = "the run was ended, and the command may have been running"
	}
	received, late := g.others.finished()
	g.elsewhere(ctx, received)
	begun := g.mayRun()
	g.elsewhere(ctx, late)
	for _, i := range begun {
		if !g.progress.told[i] && g.compiled.RunsOnce(i) {
			g.result(ctx, &wire.Result{Index: i, Status: wire.Failed, Unknown: true, Error: why})
		}
	}
	g.flush()
	return &phaseError{pe.phase, pe.err, g.progress.Rest()}
}

// mayRun returns the entries that may be in progress on a host that was lost, and must not start again: commands without a
// guard, and what runs once.
func (g *stages) mayRun() (list []int) {
	if !g.runner.applies() || g.of.look != nil || g.progress.locked {
		return nil
	}
	for _, i := range g.progress.underWay() {
		e := &g.compiled.Catalog.Entries[i]
		if (g.compiled.RunsOnce(i) || e.Once) && g.began(i) && !e.Check && !e.Monitor && !e.Excluded && !e.Hidden {
			list = append(list, i)
		}
	}
	return list
}

// elsewhere reports the results of entries that ran on other hosts, if this host has not reported them.
func (g *stages) elsewhere(ctx context.Context, entries []int) {
	for _, i := range entries {
		if !g.progress.told[i] {
			g.result(ctx, &wire.Result{Index: i})
		}
	}
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
