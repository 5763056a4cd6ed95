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

// An installation is a package on one host: its manager there, and the state in which it is.
type installation struct {
	*Package
	host modules.Host
	by   manager
	have State
}

// Check implements [modules.Resource].
func (p *Package) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	m, err := p.manager(h)
	if err != nil {
		return modules.Plan{}, err
	}
	place, _ := m.(placeMaker)
	by := bringerOf(m)
	var offers modules.EffectKind
	if o, ok := m.(interface{ offersKind() modules.EffectKind }); ok {
		offers = o.offersKind()
	}
	m = &recalling{m, h, p.group(), offers}
	i := &installation{Package: p, host: h, by: m}
	if err := i.observe(ctx); err != nil {
		return modules.Plan{}, err
	}
	s, err := i.decide(ctx)
	if err == nil {
		s, err = i.withHold(s)
	}
	if s != nil && s.verb != remove && place != nil {
		s.makes = place.makes()
	}
	p.offered = err != nil || s != nil && s.verb != "" || p.Ensure == latest
	if err != nil || s == nil {
		return modules.Plan{}, err
	}
	if err := i.mayChange(s); err != nil {
		return modules.Plan{}, err
	}
	plan, err := modules.PlanIfPermitted(i.plan(s), permitted(h, m))
	if err != nil || s.fetch || s.awaits || s.verb == "" {
		plan.MayFail = s.awaits
		return plan, err
	}
	t := i.transaction(s)
	done, err := m.rehearse(ctx, t)
	switch {
	case errors.Is(err, errHeld), isUnforeseen(err):
		plan.MayFail = true
		return plan, nil
	case err != nil:
		return modules.Plan{}, err
	}
	plan = i.withConsequences(plan, t, done)
	if h.CheckRun && by != nil {
		plan = pendingOf(by, h, t, done, offers).foreseen(ctx, plan)
	}
	return plan, nil
}

// permitted returns an error if this user may not change packages.
func permitted(h modules.Host, m changer) error {
	if m.database() == "" {
		return nil
	}
	return h.Uncounted().Files.MayReplace(m.database()) // packages keep the rights of this user
}

// withConsequences adds the changes of other packages to a plan, and reports the packages that would be removed.
func (i *installation) withConsequences(plan modules.Plan, t transaction, done []consequence) modules.Plan {
	var gone []string
	for _, c := range done {
		if t.has(c.name) {
			continue
		}
		plan.Effects = append(plan.Effects, modules.Effect{Kind: Effect, Key: i.place().key(c.name), State: State{Installed: c.version != "", Version: c.version}})
		if c.version == "" {
			gone = append(gone, c.name)
		}
	}
	if len(gone) > 0 {
		i.host.Report.Message("warning", "this removes also: "+words(gone))
	}
	return plan
}

// observe finds the state of the package, in a check run the predicted one, and whether it is on hold, if the resource sets
// hold.
func (i *installation) observe(ctx context.Context) (err error) {
	if s, ok := i.host.Forecast.Lookup(Effect, i.place().key(i.Name)); ok {
		i.have = s.(State)
	} else if i.have, err = i.by.installed(ctx, i.Name); err != nil {
		return err
	}
	if i.Hold == nil {
		return nil
	}
	if on, ok := i.host.Forecast.Lookup(holdEffect, i.Name); ok {
		i.have.Held = on.(bool)
		return nil
	}
	i.have.Held, err = i.by.held(i.Name, i.have)
	return err
}

// decide returns the steps to take; nil if there is nothing to do.
func (i *installation) decide(ctx context.Context) (*steps, error) {
	have, wants := i.have, wanted(i.Ensure)
	switch {
	case i.Ensure == absent && !have.there(), i.Ensure == present && have.Installed:
		return nil, nil
	case i.Ensure == absent && have.Stuck:
		return nil, modules.Refuse("the package %s is %s, and dpkg cannot remove it: first install the package again (ensure: present, or: apt-get install --reinstall %s)", i.Name, have.Unfinished, i.Name)
	case i.Ensure == absent:
		return &steps{verb: remove}, nil
	case i.Ensure == present && have.there() && !have.Torn:
		return &steps{verb: install, version: have.Version}, nil
	case wants.pinned() && have.Installed && have.Version != "":
		if ok, err := wants.suits(ctx, i.by, have.Version); err != nil || ok {
			return nil, err
		}
	}
	if i.local() {
		return i.fromFile(ctx)
	}
	if _, changes := i.host.Forecast.Lookup(modules.OffersEffect, ""); changes && i.awaits() {
		return &steps{verb: install, version: wants.version(), within: wants.within(), awaits: true}, nil
	}
	fresh, err := i.fresh(ctx, i.by)
	if err != nil || !fresh {
		return &steps{verb: install, fetch: true}, err
	}
	s, err := i.choose(ctx)
	if isUnforeseen(err) && i.awaits() {
		i.host.Report.Message(modules.LevelInfo, err.Error())
		return &steps{verb: install, version: wants.version(), within: wants.within(), awaits: true}, nil
	}
	if isUnlisted(err) && i.CacheValid != "" && !i.fetched {
		if fresh, err := i.by.fresh(ctx, justNow); err != nil || !fresh {
			return &steps{verb: install, fetch: true}, err
		}
	}
	return s, err
}

// awaits reports whether something will be done, whatever is offered then, or it fails.
func (i *installation) awaits() bool { return !i.have.Installed || wanted(i.Ensure).pinned() }

// justNow is the age of lists that are not fetched again for a package that they
// lack.
const justNow = time.Minute

// fresh reports whether the lists need not be fetched.
func (p *Package) fresh(ctx context.Context, m lister) (bool, error) {
	if p.CacheValid == "" || p.fetched {
		return true, nil
	}
	within, _ := parseDuration("cache_valid", p.CacheValid) // Validate has found it right
	return m.fresh(ctx, within)
}

// choose looks for the version to install; nil if the host has it.
func (i *installation) choose(ctx context.Context) (*steps, error) {
	have := i.have
	if have.Torn && i.Ensure == present {
		s := &steps{verb: install, version: have.Version, again: true}
		if _, err := i.by.rehearse(ctx, i.transaction(s)); err == nil { // otherwise no repository has this version any more
			return s, nil
		}
	}
	version, err := i.candidate(ctx)
	switch {
	case err != nil:
		return nil, err
	case version == "":
		return i.chooseVirtual(ctx)
	case have.Version == "":
		return &steps{verb: install, version: version}, nil
	}
	order, err := i.by.order(ctx, have.Version, version)
	switch {
	case err != nil:
		return nil, err
	case have.Installed && i.Ensure == latest && order >= 0: // newer than the available version
		return nil, nil
	case order > 0:
		return &steps{verb: downgrade, version: version}, nil
	}
	return &steps{verb: install, version: version, again: have.Torn}, nil
}

// chooseVirtual returns the steps for a name that only other packages provide.
func (i *installation) chooseVirtual(ctx context.Context) (*steps, error) {
	if i.Ensure != present {
		return nil, modules.Refuse("%q is a virtual package, which has no versions; name the package itself, or write ensure: present", i.Name)
	}
	provider, err := i.by.provider(ctx, i.Name)
	if err != nil || provider != "" {
		return nil, err
	}
	return &steps{verb: install}, nil
}

// mayChange refuses to change a package that is on hold, unless the resource sets hold.
func (i *installation) mayChange(s *steps) error {
	have := i.have
	if !have.Held || !have.there() || s.fetch || i.Hold != nil || s.verb != remove && s.version == have.Version {
		return nil
	}
	return modules.Refuse("%s is held at %s; to let it change, %s", i.Name, have.Version, i.by.release(i.Name))
}

// Recurs implements [modules.Recurrer]: the latest version changes by itself.
func (p *Package) Recurs(plan modules.Plan) bool {
	installs := func(c modules.Change) bool { return c.Property == "ensure" }
	return p.Ensure == latest && !slices.ContainsFunc(plan.Changes, installs)
}

func (i *installation) item(s *steps) item {
	return item{i.Name, s.version, wanted(i.Ensure).pinned(), s.file, s.within, s.again}
}

func (i *installation) transaction(s *steps) transaction {
	return transaction{s.verb, []item{i.item(s)}, s.release}
}

// plan describes the steps in words.
func (i *installation) plan(s *steps) modules.Plan {
	have := i.have
	plan := modules.Plan{Action: action(have, s), Changes: changes(have, s), Steps: s}
	if holdAction(have, s) != "" {
		plan.Changes = append(plan.Changes, modules.Change{Property: "hold", Have: strconv.FormatBool(have.Held), Want: strconv.FormatBool(s.hold)})
	}
	if i.Hold != nil {
		plan.Effects = append(plan.Effects, modules.Effect{Kind: holdEffect, Key: i.Name, State: *i.Hold})
		have.Held = *i.Hold
	}
	after := State{Installed: s.verb != remove, Version: s.version, Held: have.Held && s.verb != remove}
	if s.verb == "" {
		after = have
	}
	plan.Effects = append(plan.Effects, modules.Effect{Kind: Effect, Key: i.place().key(i.Name), State: after})
	if s.verb != "" {
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	if s.verb == install || s.verb == downgrade {
		plan.Needs = modules.MissingContents(i.Package)
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
