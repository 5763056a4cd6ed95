package pkg

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/pkg/brings"
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
	key := string(s.verb) + " " + p.Provider + " " + p.LockTimeout + p.place().id()
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
		i := &installation{Package: member.Resource.(*Package), host: h, by: m}
		s, err := i.current(ctx, member.Plan)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		if s.release {
			release = append(release, i.Name)
		}
		if s.hold {
			hold = append(hold, i.Name)
		}
		if s.verb == "" {
			continue
		}
		item := i.item(s)
		if s.verb != remove && !i.Content.IsZero() {
			file, done, err := i.staged(ctx)
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
		err = carryOut(ctx, m, h, t)
	}
	if err != nil { // the hold is kept
		hold = slices.DeleteFunc(hold, func(name string) bool { return !slices.Contains(release, name) })
	}
	if len(hold) > 0 {
		err = errors.Join(err, m.setHold(ctx, hold, true))
	}
	return err
}

// aptPartial is the folder in which apt continues interrupted downloads.
const aptPartial = "/var/cache/apt/archives/partial"

// carryOut carries out a transaction. apt continues the downloads that check runs have begun.
func carryOut(ctx context.Context, m manager, h modules.Host, t transaction) error {
	if _, is := m.(apt); is && h.Private != "" && t.verb != remove {
		if _, err := h.Files.Stat(brings.Parts(h.Private)); err == nil {
			if parts, err := brings.OpenParts(h.Private); err == nil {
				defer parts.Resume(aptPartial)()
			}
		}
	}
	return m.carryOut(ctx, t)
}

// current returns the steps of a plan, or decides them again if the lists have been fetched since; nil if there is
// nothing to do.
func (i *installation) current(ctx context.Context, plan modules.Plan) (*steps, error) {
	s := plan.Steps.(*steps)
	if !s.fetch {
		return s, nil
	}
	if err := i.observe(ctx); err != nil {
		return nil, err
	}
	s, err := i.choose(ctx)
	if err != nil {
		return nil, err
	}
	if s, err = i.withHold(s); err != nil || s == nil {
		return nil, err
	}
	if err := i.mayChange(s); err != nil {
		return nil, err
	}
	i.host.Report.Message("info", i.Name+": "+action(i.have, s))
	return s, nil
}

// Subject implements [modules.Reverser].
func (p *Package) Subject() string { return "package " + p.place().key(p.Name) }

// Lasts implements [modules.Lasting].
func (p *Package) Lasts() string { return "packages are neither downgraded nor removed" }

// Reversal implements [modules.Reverser]: the package, at its version. Dependencies that were installed or removed with
// it are up to the package manager. The version may no longer be available.
func (p *Package) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	before, _ := kept.(*Package)
	if kept != nil && (p.Hold == nil || before != nil && before.Hold != nil) {
		return nil, nil
	}
	m, err := p.manager(h)
	if err != nil {
		return nil, err
	}
	i := &installation{Package: p, host: h, by: m}
	err = i.observe(ctx)
	have := i.have
	properties := map[string]any{"ensure": absent, "lock_timeout": p.LockTimeout}
	maps.Copy(properties, p.place().properties())
	switch {
	case err != nil:
		return nil, err
	case have.Unfinished != "":
		return nil, modules.Refuse("package %s is %s, which nothing brings back", p.Name, have.Unfinished)
	case have.Installed && have.Version == "":
		return nil, modules.Refuse("it cannot be known which version of package %s is there", p.Name)
	case have.Installed:
		properties["ensure"] = have.Version
	}
	if before != nil { // which does not contain the hold
		properties["ensure"] = before.Ensure
	}
	if p.Hold != nil {
		properties["hold"] = have.Held && properties["ensure"] != absent
	}
	return properties, nil
}
