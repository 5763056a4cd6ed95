package pkg

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// An Upgrader brings the packages of a host up to date, for the type that does so.
type Upgrader struct {
	Provider    string
	Security    bool   // only packages with a security update
	Removals    bool   // others may go for that
	CacheValid  string // as in [Package]
	LockTimeout string

	fetched bool // the lists, by this resource
}

// An upgrader is a manager that can bring all packages up to date at once.
type upgrader interface {
	// outlook returns the changes that an upgrade would make.
	outlook(ctx context.Context, u *Upgrader) (outlook, error)
	// upgrade does it.
	upgrade(ctx context.Context, u *Upgrader, o outlook) error
}

// An outlook describes the changes that an upgrade would make.
type outlook struct {
	done []consequence
	kept []string // packages that have a newer version and are not changed: they are held, or their dependencies are not available
	// items are the packages to name in the command, if the manager has no option for this upgrade.
	items []item
}

// upgradeEffect is the kind of effect that an upgrade has: Key is its scope, State nil.
const upgradeEffect modules.EffectKind = "upgrade"

func (u *Upgrader) scope() string { return map[bool]string{true: "security", false: "all"}[u.Security] }

// upgradeSteps is passed from Plan to Apply.
type upgradeSteps struct {
	fetch   bool // fetch the lists first: the available versions are unknown yet
	outlook outlook
}

func (u *Upgrader) asPackage() *Package {
	return &Package{Ensure: latest, Provider: u.Provider, CacheValid: u.CacheValid, LockTimeout: u.LockTimeout, fetched: u.fetched}
}

// manager returns the manager of the host, if it can bring all packages up to date.
func (u *Upgrader) manager(h modules.Host) (manager, upgrader, error) {
	m, err := u.asPackage().manager(h)
	if err != nil {
		return nil, nil, err
	}
	return m, m.(upgrader), nil
}

// Plan returns the changes that an upgrade would make, from the manager's own simulation.
func (u *Upgrader) Plan(ctx context.Context, h modules.Host) (modules.Plan, error) {
	m, by, err := u.manager(h)
	if err != nil {
		return modules.Plan{}, err
	}
	if u.planned(h) {
		return modules.Plan{}, nil
	}
	effects := []modules.Effect{{Kind: upgradeEffect, Key: u.scope()}, modules.Anything}
	switch fresh, err := u.asPackage().fresh(ctx, m); {
	case err != nil:
		return modules.Plan{}, err
	case !fresh:
		plan := modules.Plan{
			Action: "fetched the package lists and looked for upgrades", Steps: upgradeSteps{fetch: true}, Effects: effects,
			Changes: []modules.Change{{Property: "cache", Have: "outdated", Want: "valid"}},
		}
		return modules.PlanIfPermitted(plan, h.Files.MayReplace(m.database()))
	}
	o, changes, err := u.look(ctx, h, m, by)
	if err != nil || len(changes) == 0 {
		return modules.Plan{}, err
	}
	plan := modules.Plan{Action: upgradeAction(changes), Changes: changes, Steps: upgradeSteps{outlook: o}}
	for _, c := range o.done {
		plan.Effects = append(plan.Effects, modules.Effect{Kind: Effect, Key: c.name, State: State{Installed: c.version != "", Version: c.version}})
	}
	plan.Effects = append(plan.Effects, effects...)
	return modules.PlanIfPermitted(plan, h.Files.MayReplace(m.database()))
}

// planned reports whether an earlier resource of a check run would do the same upgrade. Resources between the two may
// make this prediction uncertain.
func (u *Upgrader) planned(h modules.Host) bool {
	if h.Forecast == nil {
		return false
	}
	_, done := h.Forecast.Lookup(upgradeEffect, u.scope())
	if !done && u.Security {
		_, done = h.Forecast.Lookup(upgradeEffect, "all")
	}
	if done {
		h.Forecast.Lookup(modules.AnyEffect, "")
	}
	return done
}

// look returns the changes that an upgrade would make, from the current versions.
func (u *Upgrader) look(ctx context.Context, h modules.Host, m manager, by upgrader) (outlook, []modules.Change, error) {
	o, err := by.outlook(ctx, u)
	if err != nil {
		return o, nil, err
	}
	if len(o.kept) > 0 {
		h.Report.Message(modules.LevelInfo, "kept back, because they are on hold or their dependencies are not available: "+words(some(o.kept)))
	}
	changes, err := upgradeChanges(ctx, m, o.done)
	if err != nil || u.Removals {
		return o, changes, err
	}
	var gone []string
	for _, c := range changes {
		if c.Want == absent {
			gone = append(gone, c.Property)
		}
	}
	if len(gone) > 0 {
		return o, nil, modules.Refuse("this would remove %s; to let it, write removals: true", words(some(gone)))
	}
	return o, changes, nil
}

// upgradeChanges are the packages that change, each with both versions, by their names.
func upgradeChanges(ctx context.Context, m manager, done []consequence) ([]modules.Change, error) {
	var names []string
	for _, c := range done {
		names = append(names, c.name)
	}
	have, err := statesOf(ctx, m, names)
	if err != nil {
		return nil, err
	}
	var changes []modules.Change
	for _, c := range done {
		changes = append(changes, modules.Change{Property: c.name, Have: cmp.Or(have[c.name].Version, absent), Want: cmp.Or(c.version, absent)})
	}
	slices.SortStableFunc(changes, func(a, b modules.Change) int { return strings.Compare(a.Property, b.Property) })
	return slices.CompactFunc(changes, func(a, b modules.Change) bool { return a == b }), nil // a package may have several architectures
}

// statesOf returns the states of packages on the host.
func statesOf(ctx context.Context, m looker, names []string) (map[string]State, error) {
	have := map[string]State{}
	if s, ok := m.(surveyor); ok {
		for part := range parts(slices.Clone(names)) {
			if err := s.survey(ctx, part, have); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range names {
		if _, known := have[name]; known {
			continue
		}
		is, err := m.installed(ctx, name)
		if err != nil {
			return nil, err
		}
		have[name] = is
	}
	return have, nil
}

// upgradeAction counts the packages by kind of change.
func upgradeAction(changes []modules.Change) string {
	var upgraded, installed, removed int
	for _, c := range changes {
		switch {
		case c.Want == absent:
			removed++
		case c.Have == absent:
			installed++
		default:
			upgraded++
		}
	}
	var parts []string
	for _, part := range []struct {
		n    int
		verb string
	}{{upgraded, "upgraded"}, {installed, "installed"}, {removed, "removed"}} {
		switch {
		case part.n == 1:
			parts = append(parts, part.verb+" 1 package")
		case part.n > 1:
			parts = append(parts, fmt.Sprintf("%s %d packages", part.verb, part.n))
		}
	}
	return strings.Join(parts, ". ")
}

// Apply carries a plan out.
func (u *Upgrader) Apply(ctx context.Context, h modules.Host, plan modules.Plan) error {
	m, by, err := u.manager(h)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s := plan.Steps.(upgradeSteps)
	if !s.fetch {
		return by.upgrade(ctx, u, s.outlook)
	}
	if err := m.fetch(ctx); err != nil {
		return err
	}
	u.fetched = true
	o, changes, err := u.look(ctx, h, m, by)
	if err != nil || len(changes) == 0 {
		return err
	}
	if err := by.upgrade(ctx, u, o); err != nil {
		return err
	}
	for _, c := range changes {
		h.Report.Message(modules.LevelInfo, fmt.Sprintf("%s: %s to %s", c.Property, c.Have, c.Want))
	}
	return nil
}

// Sources returns the sources where a change can be noticed first.
func (u *Upgrader) Sources(h modules.Host) (from modules.Sources) {
	m, _, err := u.manager(h)
	if err != nil {
		Repositories{}.AddPrograms(&from)
		return from // Check reports the error
	}
	from = m.changes()
	from.Paths = append(from.Paths, m.holds()...)
	return from
}

// Manager names the package manager of a host.
func (u *Upgrader) Manager(h modules.Host) (string, error) {
	t, err := toolOf(h, u.Provider)
	return t.provider, err
}

// noAdvisories returns the error of a manager that does not know which updates are for security.
func noAdvisories(program string) error {
	return modules.Refuse("%s cannot select security updates; upgrade all", program)
}
