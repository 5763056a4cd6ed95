package ral

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// applied is the result of applying a resource: Apply has called get again, for all resources at once, so the next
// Check need not.
type applied struct {
	recorder
	after values // nil: not known
	name  string
	err   error
}

func (e *applied) tell(to modules.Reporter) error {
	e.recorder.tell(to)
	if e.after != nil {
		to.State(modules.State{After: e.after.state(e.name)})
	}
	return e.err
}

// Apply implements [modules.Resource].
func (r *Ral) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	if err := r.ApplyBatch(ctx, h, []modules.Planned{{Resource: r, Plan: p}}); err != nil {
		r.done = nil
		return err
	}
	done := r.done
	if err := done.tell(h.Report); err != nil {
		r.done = nil
		return err
	}
	r.done = &applied{name: done.name}
	return nil
}

// BatchKey implements [modules.Batcher]: a provider that speaks JSON takes any number
// of updates.
func (r *Ral) BatchKey(p modules.Plan) string {
	t, ok := p.Steps.(*task)
	if !ok || t.provider.Invoke != invokeJSON {
		return ""
	}
	return t.provider.group()
}

// group returns a key that is the same for calls that can be made as one.
func (p *provider) group() string { return p.file + "\x00" + p.limit.String() }

// ApplyBatch implements [modules.Batcher]. The next Check of each resource reports its result.
func (r *Ral) ApplyBatch(ctx context.Context, h modules.Host, batch []modules.Planned) error {
	var tasks []*task
	var updates []update
	for _, planned := range batch {
		t := planned.Plan.Steps.(*task)
		tasks, updates = append(tasks, t), append(updates, t.update)
		planned.Resource.(*Ral).done = &applied{name: t.update.name}
	}
	p := tasks[0].provider
	all, err := p.set(ctx, h, updates, false)
	if err != nil {
		for _, planned := range batch {
			planned.Resource.(*Ral).done.err = err
		}
		return err
	}
	reportOthers(h.Report, all, "changed", names(updates)...)
	again := r.askAgain(ctx, h, batch, all)
	for i, planned := range batch {
		one := planned.Resource.(*Ral)
		one.conclude(tasks[i], all[tasks[i].update.name], again)
	}
	return nil
}

func names(updates []update) []string {
	var list []string
	for _, u := range updates {
		list = append(list, u.name)
	}
	return list
}

// reply is the answer of a provider to the second get.
type reply struct {
	entries map[string]*entry
	err     error
}

// askAgain gets the state of the resources that must be verified and have not failed already.
func (r *Ral) askAgain(ctx context.Context, h modules.Host, batch []modules.Planned, all map[string]*report) reply {
	var ask []string
	for _, planned := range batch {
		one := planned.Resource.(*Ral)
		if told := all[one.Name]; one.verifies() && (told == nil || told.err == nil) {
			ask = append(ask, one.Name)
		}
	}
	if len(ask) == 0 {
		return reply{}
	}
	entries, err := planned(batch).get(ctx, h, ask)
	return reply{entries, err}
}

// planned returns the provider of a batch.
func planned(batch []modules.Planned) *provider { return batch[0].Plan.Steps.(*task).provider }

func (r *Ral) verifies() bool { return r.Verify == nil || *r.Verify }

// conclude stores the result of the resource for its next Check.
func (r *Ral) conclude(t *task, told *report, again reply) {
	end := r.done
	switch {
	case told != nil && told.err != nil:
		end.err = told.err
		return
	case !r.verifies():
		end.after, end.err = t.believed(told)
	case again.err != nil:
		end.err = again.err
	default:
		end.after, end.err = t.verified(again.entries[r.Name])
	}
	if told != nil {
		t.reportFurther(end, told)
	}
}

// believed returns the state that the provider reports to have set.
func (t *task) believed(told *report) (values, error) {
	if told == nil || len(told.changes) == 0 {
		return nil, t.provider.told(modules.ErrorFailed, "it reports that it has changed nothing")
	}
	after := t.update.is.plus(nil)
	for key, c := range told.changes {
		after[key] = c.is
	}
	return after, nil
}

// verified returns the state that the provider reports afterwards, with an error if it is not the desired state.
func (t *task) verified(e *entry) (values, error) {
	p := t.provider
	is, err := p.stateOf(e, t.want)
	if err != nil {
		return nil, err
	}
	left := p.reached(t.want, is)
	var reasons []string
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if p.Attributes[key].Kind != kindWrite {
			reasons = append(reasons, fmt.Sprintf("%s mismatch: state=%s requested=%s", key, shown(is[key]), shown(left[key])))
		}
	}
	if len(reasons) == 0 {
		return is, nil
	}
	return is, &process.Failure{
		Text: "failed to reach desired state: " + strings.Join(reasons, ", "),
		Safe: "failed to reach desired state",
	}
}

// reportFurther reports changes by the provider that were not requested.
func (t *task) reportFurther(end *applied, told *report) {
	for _, key := range slices.Sorted(maps.Keys(told.changes)) {
		c := told.changes[key]
		if want, asked := t.update.should[key]; asked && (equal(want, c.is) || key == ensure && ensured(want, c.is)) {
			continue
		}
		end.Message("info", "changed "+key+" from "+shown(c.was)+" to "+shown(c.is))
	}
}
