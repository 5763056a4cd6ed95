package pkg

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// steps is passed from Check to Apply.
type steps struct {
	verb    verb
	version string // "" leaves it to the package manager
	within  string // range of the version, if the version is unknown yet; empty means any
	fetch   bool   // fetch the lists first: the available versions are unknown yet
	again   bool   // install also if this version is installed: files of it are missing
	awaits  bool   // the source of the package does not exist yet, so nothing can be simulated
	makes   string // virtualenv to create first
	file    string // package file; empty means a repository, or a file that does not exist yet
	release bool   // take it off hold first
	hold    bool   // put it on hold at the end
}

// Check implements [modules.Resource].
func (p *Package) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	m, err := p.manager(h)
	if err != nil {
		return modules.Plan{}, err
	}
	place, _ := m.(placeMaker)
	m = &recalling{m, h, p.group()}
	have, err := p.have(ctx, h, m)
	if err != nil {
		return modules.Plan{}, err
	}
	s, err := p.decide(ctx, h, m, have)
	if err == nil {
		s, err = p.withHold(have, s)
	}
	if s != nil && s.verb != remove && place != nil {
		s.makes = place.makes()
	}
	p.offered = err != nil || s != nil && s.verb != "" || p.Ensure == latest
	if err != nil || s == nil {
		return modules.Plan{}, err
	}
	if err := p.held(m, have, s); err != nil {
		return modules.Plan{}, err
	}
	plan, err := modules.PlanIfPermitted(p.plan(have, s), permitted(h, m))
	if err != nil || s.fetch || s.awaits || s.verb == "" {
		plan.MayFail = s.awaits
		return plan, err
	}
	t := p.transaction(s)
	done, err := m.rehearse(ctx, t)
	switch {
	case errors.Is(err, errHeld), isUnforeseen(err):
		plan.MayFail = true
		return plan, nil
	case err != nil:
		return modules.Plan{}, err
	}
	return p.withConsequences(plan, t, done, h.Report), nil
}

// permitted returns an error if this user may not change packages.
func permitted(h modules.Host, m changer) error {
	if m.database() == "" {
		return nil
	}
	return h.Files.MayReplace(m.database())
}

// withConsequences adds the changes of other packages to a plan, and reports the packages that would be removed.
func (p *Package) withConsequences(plan modules.Plan, t transaction, done []consequence, report modules.Reporter) modules.Plan {
	var gone []string
	for _, c := range done {
		if t.has(c.name) {
			continue
		}
		plan.Effects = append(plan.Effects, modules.Effect{Kind: Effect, Key: p.keyOf(c.name), State: State{Installed: c.version != "", Version: c.version}})
		if c.version == "" {
			gone = append(gone, c.name)
		}
	}
	if len(gone) > 0 {
		report.Message("warning", "this removes also: "+words(gone))
	}
	return plan
}

// have returns the state of the package on the host, in a check run the predicted one.
func (p *Package) have(ctx context.Context, h modules.Host, m manager) (State, error) {
	var have State
	var err error
	if s, ok := h.Forecast.Lookup(Effect, p.keyOf(p.Name)); ok {
		have = s.(State)
	} else if have, err = m.installed(ctx, p.Name); err != nil {
		return State{}, err
	}
	return p.withHeld(h, m, have)
}

// withHeld adds whether the package is on hold, if the resource sets hold.
func (p *Package) withHeld(h modules.Host, m holding, have State) (State, error) {
	if p.Hold == nil {
		return have, nil
	}
	if on, ok := h.Forecast.Lookup(holdEffect, p.Name); ok {
		have.Held = on.(bool)
		return have, nil
	}
	var err error
	have.Held, err = m.held(p.Name, have)
	return have, err
}

// decide returns the steps to take; nil if there is nothing to do.
func (p *Package) decide(ctx context.Context, h modules.Host, m manager, have State) (*steps, error) {
	switch {
	case p.Ensure == absent && !have.there(), p.Ensure == present && have.Installed:
		return nil, nil
	case p.Ensure == absent && have.Stuck:
		return nil, modules.Refuse("the package %s is %s, and dpkg cannot remove it: first install the package again (ensure: present, or: apt-get install --reinstall %s)", p.Name, have.Unfinished, p.Name)
	case p.Ensure == absent:
		return &steps{verb: remove}, nil
	case p.Ensure == present && have.there() && !have.Torn:
		return &steps{verb: install, version: have.Version}, nil
	case p.pinned() && have.Installed && have.Version != "":
		if ok, err := p.suits(ctx, m, have.Version); err != nil || ok {
			return nil, err
		}
	}
	if p.local() {
		return p.fromFile(ctx, h, m, have)
	}
	if _, changes := h.Forecast.Lookup(modules.OffersEffect, ""); changes && p.awaits(have) {
		return &steps{verb: install, version: p.version(), within: p.within(), awaits: true}, nil
	}
	fresh, err := p.fresh(ctx, m, p.validity())
	if err != nil || !fresh {
		return &steps{verb: install, fetch: true}, err
	}
	s, err := p.choose(ctx, m, have)
	if isUnforeseen(err) && p.awaits(have) {
		h.Report.Message(modules.LevelInfo, err.Error())
		return &steps{verb: install, version: p.version(), within: p.within(), awaits: true}, nil
	}
	if isUnlisted(err) && p.CacheValid != "" {
		if fresh, err := p.fresh(ctx, m, justNow); err != nil || !fresh {
			return &steps{verb: install, fetch: true}, err
		}
	}
	return s, err
}

// awaits reports whether something will be done, whatever is offered then, or it fails.
func (p *Package) awaits(have State) bool { return !have.Installed || p.pinned() }

// version is the version in ensure; empty means any, or one of a range.
func (p *Package) version() string {
	if p.pinned() && !isRange(p.Ensure) {
		return p.Ensure
	}
	return ""
}

// within is the range in ensure; empty means none.
func (p *Package) within() string {
	if isRange(p.Ensure) {
		return p.Ensure
	}
	return ""
}

// justNow is the age of lists that are not fetched again for a package that they
// lack.
const justNow = time.Minute

func (p *Package) pinned() bool {
	return p.Ensure != present && p.Ensure != latest && p.Ensure != absent
}

// validity is the maximum age of the lists.
func (p *Package) validity() time.Duration {
	within, _ := parseDuration("cache_valid", p.CacheValid) // Validate has found it right
	return within
}

// fresh reports whether the lists need not be fetched.
func (p *Package) fresh(ctx context.Context, m lister, within time.Duration) (bool, error) {
	if p.CacheValid == "" || p.fetched {
		return true, nil
	}
	return m.fresh(ctx, within)
}

// choose looks for the version to install; nil if the host has it.
func (p *Package) choose(ctx context.Context, m manager, have State) (*steps, error) {
	if have.Torn && p.Ensure == present {
		s := &steps{verb: install, version: have.Version, again: true}
		if _, err := m.rehearse(ctx, p.transaction(s)); err == nil { // otherwise no repository has this version any more
			return s, nil
		}
	}
	version, err := p.candidate(ctx, m)
	switch {
	case err != nil:
		return nil, err
	case version == "":
		return p.chooseVirtual(ctx, m)
	case have.Version == "":
		return &steps{verb: install, version: version}, nil
	}
	order, err := m.order(ctx, have.Version, version)
	switch {
	case err != nil:
		return nil, err
	case have.Installed && p.Ensure == latest && order >= 0: // newer than the available version
		return nil, nil
	case order > 0:
		return &steps{verb: downgrade, version: version}, nil
	}
	return &steps{verb: install, version: version, again: have.Torn}, nil
}

// chooseVirtual returns the steps for a name that only other packages provide.
func (p *Package) chooseVirtual(ctx context.Context, m manager) (*steps, error) {
	if p.Ensure != present {
		return nil, modules.Refuse("%q is a virtual package, which has no versions; name the package itself, or write ensure: present", p.Name)
	}
	provider, err := m.provider(ctx, p.Name)
	if err != nil || provider != "" {
		return nil, err
	}
	return &steps{verb: install}, nil
}

// held refuses to change a package that is on hold, unless the resource sets hold.
func (p *Package) held(m changer, have State, s *steps) error {
	if !have.Held || !have.there() || s.fetch || p.Hold != nil || s.verb != remove && s.version == have.Version {
		return nil
	}
	return modules.Refuse("%s is held at %s; to let it change, %s", p.Name, have.Version, m.release(p.Name))
}

// Recurs implements [modules.Recurrer]: the latest version changes by itself.
func (p *Package) Recurs(plan modules.Plan) bool {
	installs := func(c modules.Change) bool { return c.Property == "ensure" }
	return p.Ensure == latest && !slices.ContainsFunc(plan.Changes, installs)
}

func (p *Package) item(s *steps) item {
	return item{p.Name, s.version, p.pinned(), s.file, s.within, s.again}
}

func (p *Package) transaction(s *steps) transaction {
	return transaction{s.verb, []item{p.item(s)}, s.release}
}

// plan describes the steps in words.
func (p *Package) plan(have State, s *steps) modules.Plan {
	plan := modules.Plan{Action: action(have, s), Changes: changes(have, s), Steps: s}
	if holdAction(have, s) != "" {
		plan.Changes = append(plan.Changes, modules.Change{Property: "hold", Have: strconv.FormatBool(have.Held), Want: strconv.FormatBool(s.hold)})
	}
	if p.Hold != nil {
		plan.Effects = append(plan.Effects, modules.Effect{Kind: holdEffect, Key: p.Name, State: *p.Hold})
		have.Held = *p.Hold
	}
	after := State{Installed: s.verb != remove, Version: s.version, Held: have.Held && s.verb != remove}
	if s.verb == "" {
		after = have
	}
	plan.Effects = append(plan.Effects, modules.Effect{Kind: Effect, Key: p.keyOf(p.Name), State: after})
	if s.verb != "" {
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	if s.verb == install || s.verb == downgrade {
		plan.Needs = modules.MissingContents(p)
	}
	return plan
}

func action(have State, s *steps) string {
	var parts []string
	for _, part := range []string{changeAction(have, s), holdAction(have, s)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if s.makes != "" {
		parts[0] = "made the virtualenv " + s.makes + " and " + parts[0]
	}
	return strings.Join(parts, ". ")
}

// changeAction describes the change of the package itself.
func changeAction(have State, s *steps) string {
	switch {
	case s.verb == "":
		return ""
	case s.verb == remove:
		return "uninstalled"
	case s.fetch && have.there():
		return "fetched the package lists and looked for the version"
	case s.fetch:
		return "fetched the package lists and installed"
	case !have.there() && s.version == "":
		return "installed"
	case s.version == "":
		return "brought to " + s.within
	case !have.there():
		return "installed version " + s.version
	case s.verb == downgrade:
		return "downgraded to " + s.version
	case have.Version == s.version:
		return "finished the installation of version " + s.version
	}
	return "upgraded to " + s.version
}

func changes(have State, s *steps) []modules.Change {
	var list []modules.Change
	if s.fetch {
		list = append(list, modules.Change{Property: "cache", Have: "outdated", Want: "valid"})
	}
	if s.makes != "" {
		list = append(list, modules.Change{Property: "virtualenv", Have: absent, Want: present})
	}
	switch {
	case s.verb == "":
		return nil
	case s.verb == remove:
		return append(list, modules.Change{Property: "ensure", Have: cmp.Or(have.Unfinished, have.Version, present), Want: absent})
	case have.Installed && s.fetch:
		return list
	case have.Installed:
		return append(list, modules.Change{Property: "version", Have: cmp.Or(have.Version, "unknown"), Want: cmp.Or(s.version, s.within)})
	}
	return append(list, modules.Change{Property: "ensure", Have: cmp.Or(have.Unfinished, absent), Want: cmp.Or(s.version, s.within, present)})
}
