package pkg

import (
	"context"
	"errors"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// Apply implements [modules.Resource]. A package manager also fails because of other packages that are broken; this
// package may be fine all the same.
func (p *Package) Apply(ctx context.Context, h modules.Host, plan modules.Plan) error {
	failed := p.ApplyBatch(ctx, h, []modules.Planned{{Resource: p, Plan: plan}})
	if failed == nil {
		return nil
	}
	if left, err := p.Check(ctx, modules.ReadOnly(h)); err != nil || left.Pending() {
		return failed
	}
	h.Report.Message("warning", "this package has the desired state, but: "+failed.Error())
	return nil
}

// BatchKey implements [modules.Batcher].
func (p *Package) BatchKey(plan modules.Plan) string {
	s := plan.Steps.(*steps)
	key := string(s.verb) + " " + p.Provider + " " + p.LockTimeout + p.place()
	if s.fetch {
		key += " fetch " + p.CacheValid
	}
	return key
}

// ApplyBatch implements [modules.Batcher]: the lists are fetched once, if at all,
// and one transaction does the rest.
func (p *Package) ApplyBatch(ctx context.Context, h modules.Host, batch []modules.Planned) error {
	m, err := p.manager(h)
	if err != nil {
		return err
	}
	t := transaction{verb: batch[0].Plan.Steps.(*steps).verb}
	if batch[0].Plan.Steps.(*steps).fetch {
		if err := m.fetch(ctx); err != nil {
			return err
		}
		for _, member := range batch {
			member.Resource.(*Package).fetched = true
		}
	}
	var release, hold []string
	for _, member := range batch {
		s, err := member.Resource.(*Package).current(ctx, h, m, member.Plan)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		name := member.Resource.(*Package).Name
		if s.release {
			release = append(release, name)
		}
		if s.hold {
			hold = append(hold, name)
		}
		if s.verb == "" {
			continue
		}
		item := member.Resource.(*Package).item(s)
		if s.verb != remove && !member.Resource.(*Package).Content.IsZero() {
			file, done, err := member.Resource.(*Package).staged(ctx, h, m)
			defer done()
			if err != nil {
				return err
			}
			item.file = file
		}
		if t.verb != s.verb { // newer lists may have only older versions
			t.verb = downgrade
		}
		t.items = append(t.items, item)
	}
	if len(release) > 0 {
		if err := m.setHold(ctx, release, false); err != nil {
			return err
		}
	}
	if len(t.items) > 0 {
		err = m.carryOut(ctx, t)
	}
	if err != nil { // the hold is kept
		hold = slices.DeleteFunc(hold, func(name string) bool { return !slices.Contains(release, name) })
	}
	if len(hold) > 0 {
		err = errors.Join(err, m.setHold(ctx, hold, true))
	}
	return err
}

// current returns the steps of a plan, or decides them again if the lists have been fetched since; nil if there is
// nothing to do.
func (p *Package) current(ctx context.Context, h modules.Host, m manager, plan modules.Plan) (*steps, error) {
	s := plan.Steps.(*steps)
	if !s.fetch {
		return s, nil
	}
	have, err := p.have(ctx, h, m)
	if err != nil {
		return nil, err
	}
	if s, err = p.choose(ctx, m, have); err != nil {
		return nil, err
	}
	if s, err = p.withHold(have, s); err != nil || s == nil {
		return nil, err
	}
	if err := p.held(m, have, s); err != nil {
		return nil, err
	}
	h.Report.Message("info", p.Name+": "+action(have, s))
	return s, nil
}
