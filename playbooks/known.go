package playbooks

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// The coordinator compiles whatever it runs, registers or stores for a host of a worker. A worker sends the values that
// the catalog is made from: facts of the host, and results of its earlier resources. In resources that run elsewhere these
// values are data: see [manifest.Taint].

// A Known holds the values from which a host's catalog, or its next stage, is compiled.
type Known struct {
	Play    int              `json:"play"`           // number of the play in the run, from 0
	Part    int              `json:"part,omitempty"` // part of the rollout; 0 is the play itself
	Facts   yamlpos.Portable `json:"facts,omitzero"` // facts that the play reads
	Results []*wire.Result   `json:"results,omitempty"`
}

// A playPart is a play, or a part of its rollout, by their numbers.
type playPart struct{ play, part int }

// announce sends the values of the current stage to the coordinator, if it runs, registers or stores anything for the host.
func (g *stages) announce(ctx context.Context) error {
	c := g.compiled
	needed := len(c.Elsewhere)+len(c.Registrations) > 0 || slices.ContainsFunc(c.Catalog.Entries, func(e wire.Entry) bool { return e.Fetch > 0 })
	if g.controller() == nil || !needed {
		return nil
	}
	paths, all := g.of.compiler.Facts()
	k := Known{Play: g.of.number, Part: g.of.mode.part(), Results: g.results}
	k.Facts.Node = yamlpos.From(&yamlpos.Node{File: g.state.host.Name}, readFacts(g.program.facts, paths, all))
	answer, err := send(ctx, g.controller(), g.state.host.Name, k)
	switch {
	case errors.Is(err, errOver):
		err = errStopped
	case answer.Error != "":
		err = &phaseError{phase: "compile", err: err}
	}
	return err
}

// selected returns a play or a part of its rollout; nil if the number is unknown, or not part of the turn.
func (a *answerer) selected(of playPart) *part {
	if of.play < 0 || of.play >= len(a.fleet.plays) || a.checkPlay(of.play) != nil {
		return nil
	}
	s := a.fleet.plays[of.play]
	gate, isGate := a.turn.Request.(GateRequest)
	switch {
	case of.part == 0:
		return s.whole()
	case of.part >= repairPart && Requests[WatchRequest](a.turn):
		return s.step(s.compiler, s.play, of.part)
	case s.parts == nil:
		return nil
	case of.part == beforePart && s.parts.before != nil:
		return s.step(s.parts.before, s.play.Rollout.Before, of.part)
	case of.part == afterPart && s.parts.after != nil:
		return s.step(s.parts.after, s.play.Rollout.After, of.part)
	case of.part == gatePart && isGate && gate.Gate < len(s.parts.gates) && s.parts.gates[gate.Gate] != nil:
		return s.step(s.parts.gates[gate.Gate], s.play.Rollout.Gates[gate.Gate].Check, of.part)
	}
	return nil
}

func (k Known) check(a *answerer) error {
	if a.selected(playPart{k.Play, k.Part}) == nil {
		return breach("sent values of part %d of play %d, which %s does not have", k.Part, k.Play+1, a.host)
	}
	if len(k.Results) > maxMessageEntries {
		return breach("sent %d results of one host", len(k.Results))
	}
	if k.Facts.Node != nil {
		if k.Facts.Kind != yamlpos.Map || deeper(k.Facts.Node, maxFactsDepth) {
			return breach("sent invalid facts: they are not a map, or nested more than %d levels deep", maxFactsDepth)
		}
	}
	for _, r := range k.Results {
		if r == nil {
			continue
		}
		if err := checkResult(r); err != nil {
			return err
		}
	}
	return nil
}

// deeper reports whether a value is nested more than so many levels deep.
func deeper(n *yamlpos.Node, levels int) bool {
	if n == nil {
		return false
	}
	if levels == 0 {
		return true
	}
	return slices.ContainsFunc(n.Items, func(one *yamlpos.Node) bool { return deeper(one, levels-1) }) ||
		slices.ContainsFunc(n.Pairs, func(p yamlpos.Pair) bool { return deeper(p.Key, levels-1) || deeper(p.Value, levels-1) })
}

// answer compiles the play for the host.
func (k Known) answer(a *answerer) error {
	of := playPart{k.Play, k.Part}
	s, h := a.selected(of), a.fleet.runner.Inventory.Host(a.host)
	facts := map[string]any{}
	if k.Facts.Node != nil {
		facts, _ = k.Facts.Any().(map[string]any)
	}
	host := hostOf(s.compiler, h, facts)
	host.Results = k.Results
	a.mu.Lock()
	before := a.made[of]
	a.mu.Unlock()
	c, err := compileHost(a.ctx, host, h, func(ctx context.Context, host catalog.Host) (*catalog.Compiled, error) {
		if before == nil || len(host.Results) == 0 {
			return s.compiler.Compile(ctx, host)
		}
		return s.compiler.Next(ctx, before, host)
	})
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made == nil {
		a.made = map[playPart]*catalog.Compiled{}
	}
	a.made[of] = c
	return nil
}

// entry returns an entry of the host as compiled here, and the catalogs of its parts that run elsewhere; nil if it is
// unknown.
func (a *answerer) entry(at place) (*wire.Entry, *catalog.Compiled, *catalog.Compiled) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.made[playPart{at.Play, at.Part}]
	if c == nil || at.Index < 0 || at.Index >= len(c.Catalog.Entries) || c.Elsewhere[at.Index] == nil {
		return nil, nil, nil
	}
	return &c.Catalog.Entries[at.Index], c.Elsewhere[at.Index], c
}

// registrations returns the services that a result registers, as compiled here. The worker's own list is ignored.
func (a *answerer) registrations(r *events.Result) ([]registry.Registration, error) {
	if len(r.Registers) == 0 {
		return nil, nil
	}
	if r.Status == events.Stable || r.Status == events.Changed {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, c := range a.made {
			if list := c.Registrations[r.Index]; len(list) > 0 && r.Index < len(c.Catalog.Entries) {
				if e := &c.Catalog.Entries[r.Index]; e.Type == r.Type && e.Name == r.Name {
					return list, nil
				}
			}
		}
	}
	return nil, breach("registers %.100s, which %s#%.100s of the play does not", r.Registers[0], r.Type, r.Name)
}

// fetched returns the entry of a file that a host hands over; nil if the play does not fetch it.
func (a *answerer) fetched(host, name string) *wire.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.made {
		for i := range c.Catalog.Entries {
			e := &c.Catalog.Entries[i]
			if alone := c.Elsewhere[i]; alone != nil {
				if there := &alone.Catalog.Entries[0]; e.On == host && there.Fetch > 0 && there.Name == name {
					return there
				}
			}
			if e.Fetch > 0 && e.Name == name && cmp.Or(e.On, a.host) == host {
				return e
			}
		}
	}
	return nil
}

// mayFetch reports whether the play fetches a file of a host.
func (a *answerer) mayFetch(host, name string) bool { return a.fetched(host, name) != nil }
