package ral

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Effect is the effect kind of providers. Keys are the provider, a NUL and the name of the resource; the state has the
// known attributes.
const Effect modules.EffectKind = "ral"

func (p *provider) effectKey(name string) string { return p.full() + "\x00" + name }

// task is passed from Check to Apply.
type task struct {
	provider *provider
	want     values
	update   update
	affects  modules.Affects
}

// Check implements [modules.Resource].
func (r *Ral) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	if done := r.done; done != nil {
		r.done = nil
		return modules.Plan{}, done.tell(h.Report)
	}
	p, want, err := r.resolve(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	is, err := r.currentState(ctx, h, p, want)
	if err != nil {
		return modules.Plan{}, err
	}
	h.Report.State(modules.State{Before: is.state(r.Name)})
	t := &task{provider: p, want: want, update: update{name: r.Name, is: is, should: p.should(want, is)}, affects: r.Affects}
	if len(t.update.should) == 0 {
		return modules.Plan{}, nil
	}
	if !p.writes() {
		return modules.Plan{}, modules.Refuse("provider %s can only read, and %s differs", p.full(), strings.Join(t.differing(), ", "))
	}
	if idle, err := t.predict(ctx, h); err != nil || idle {
		return modules.Plan{}, err
	}
	return t.plan(), nil
}

// resolve finds the provider and checks the desired state against its metadata, before any other call.
func (r *Ral) resolve(ctx context.Context, h modules.Host) (*provider, values, error) {
	p, err := r.find(ctx, h)
	if err != nil {
		return nil, nil, err
	}
	if err := r.exposed(p.metadata); err != nil {
		return nil, nil, err
	}
	want, err := p.wanted(r.Name, r.Properties)
	if err != nil {
		return nil, nil, p.refused(err)
	}
	return p, want, nil
}

// currentState returns the state of the resource: the state that earlier plans will set, the state that Preload has
// found, or the state that the provider reports now.
func (r *Ral) currentState(ctx context.Context, h modules.Host, p *provider, want values) (values, error) {
	if state, ok := h.Forecast.Lookup(Effect, p.effectKey(r.Name)); ok {
		return state.(values), nil
	}
	all, err := p.recall(h, r.Name)
	if all == nil && err == nil {
		all, err = p.get(ctx, h, []string{r.Name})
	}
	if err != nil {
		return nil, err
	}
	return p.stateOf(all[r.Name], want)
}

// stateOf returns the state in an entry. A resource that does not exist and cannot be made is absent, if absence is the
// whole desired state.
func (p *provider) stateOf(e *entry, want values) (values, error) {
	switch {
	case e == nil:
		e = &entry{values: p.missing(), unmentioned: true}
	case e.err != nil && e.err.Class == modules.ErrorUnknown && gone(want[ensure]):
		return values{ensure: want[ensure]}, nil
	case e.err != nil:
		return nil, e.err
	}
	if e.unmentioned && want[ensure] == purged {
		return values{ensure: purged}, nil
	}
	return e.values, nil
}

// differing lists the attributes for whose sake something is set.
func (t *task) differing() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.update.should)), func(key string) bool {
		return t.provider.Attributes[key].Kind == kindWrite
	})
}

// plan describes the update. Other effects of the provider are not known.
func (t *task) plan() modules.Plan {
	is, should := t.update.is, t.update.should
	plan := modules.Plan{
		Action: t.action(),
		Effects: append(t.affects.Effects(), modules.Effect{
			Kind: Effect, Key: t.provider.effectKey(t.update.name), State: t.provider.predicted(is, should),
		}),
		LikelySucceeds: true, Listed: t.affects != nil,
		Steps: t,
	}
	for _, key := range t.differing() {
		plan.Changes = append(plan.Changes, modules.Change{Property: key, Have: shown(is[key]), Want: shown(should[key])})
	}
	return plan
}

func (t *task) action() string {
	is, should := t.update.is[ensure], t.update.should[ensure]
	through := " through " + t.provider.full()
	switch {
	case gone(should):
		return "removed it" + through
	case should != nil && gone(is):
		return "created it" + through
	}
	return "set " + strings.Join(t.differing(), ", ") + through
}

// predicted returns the state after the update.
func (p *provider) predicted(is, should values) values {
	if gone(should[ensure]) {
		return values{ensure: should[ensure]}
	}
	after := is.plus(nil)
	for key, v := range should {
		if p.Attributes[key].Kind != kindWrite {
			after[key] = v
		}
	}
	return after
}

// predict calls set with noop if the provider supports that safely: in a check run, to find out whether it can make the
// change; and in any run, to find out whether a newer version exists. Other providers are not called, since some make
// the change in spite of noop.
func (t *task) predict(ctx context.Context, h modules.Host) (idle bool, err error) {
	newer := t.onlyLatest()
	_, real := h.Forecast.(modules.NoForecast)
	switch {
	case !t.provider.NoopSafe && newer:
		h.Report.Message("info", "only set can find out whether "+shown(t.update.is[ensure])+" is the latest, so it is called every time")
		return false, nil
	case !t.provider.NoopSafe || real && !newer:
		return false, nil
	}
	all, err := t.provider.set(ctx, h, []update{t.update}, true)
	if err != nil {
		return false, err
	}
	mine := all[t.update.name]
	reportOthers(h.Report, all, "would change", t.update.name)
	switch {
	case mine == nil:
		return newer, nil
	case mine.err != nil:
		return false, mine.err
	}
	return newer && len(mine.changes) == 0, nil
}

// onlyLatest reports whether only the version may differ.
func (t *task) onlyLatest() bool {
	return t.update.should[ensure] == latest && !gone(t.update.is[ensure]) && t.update.is[ensure] != nil && len(t.differing()) == 1
}

// reportOthers reports changes of resources that were not requested.
func reportOthers(to modules.Reporter, all map[string]*report, verb string, asked ...string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(asked, name) {
			continue
		}
		r := all[name]
		if r.err != nil {
			to.Message("warning", "of "+quoted(name)+", too: "+r.err.Error())
		}
		for _, key := range slices.Sorted(maps.Keys(r.changes)) {
			c := r.changes[key]
			to.Message("info", verb+" "+quoted(name)+", too: "+key+" from "+shown(c.was)+" to "+shown(c.is))
		}
	}
}

// Recurs implements [modules.Recurrer]: the latest version changes by itself.
func (r *Ral) Recurs(plan modules.Plan) bool {
	return r.Properties[ensure] == latest && len(plan.Changes) == 1 && plan.Changes[0].Property == ensure &&
		plan.Changes[0].Have != shown(absent) && plan.Changes[0].Have != shown(purged)
}
