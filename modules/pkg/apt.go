package pkg

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// apt is the package manager of Debian and its relatives: apt-get over dpkg.
type apt struct{ *access }

func (apt) database() string { return "/var/lib/dpkg/status" }

// changes implements [changer]. dpkg notes its progress in the folder updates, and later in the file status.
func (a apt) changes() modules.Sources {
	from := a.told(a.database(), "/var/lib/dpkg/arch")
	from.Trees = []string{"/var/lib/dpkg/updates", "/var/lib/dpkg/triggers"}
	return from
}

// installed implements [looker].
func (a apt) installed(ctx context.Context, name string) (State, error) {
	var rows []dpkgRow
	exit, err := a.query(ctx, Effect, func(line string) { rows = append(rows, parseDpkgRow(line)) },
		"dpkg-query", "-W", "-f", dpkgFormat, name)
	switch {
	case err != nil:
		return State{}, err
	case exit.Code > 1: // 1: unknown package
		return State{}, failure("dpkg-query", exit, nil)
	}
	_, qualified, _ := strings.Cut(name, ":")
	native := qualified
	if qualified == "" && ambiguous(rows) {
		if native, err = a.architecture(ctx); err != nil {
			return State{}, err
		}
	}
	return stateOf(rows, native), nil
}

// architecture returns the architecture of packages that name none.
func (a apt) architecture(ctx context.Context) (string, error) {
	exit, err := a.query(ctx, Effect, nil, "dpkg", "--print-architecture")
	if err == nil && exit.Code != 0 {
		err = failure("dpkg --print-architecture", exit, nil)
	}
	return strings.TrimSpace(exit.Stdout.Text), err
}

// provider implements [looker].
func (a apt) provider(ctx context.Context, name string) (string, error) {
	name, _, _ = strings.Cut(name, ":")
	provider := ""
	exit, err := a.query(ctx, Effect, func(line string) {
		if row := parseDpkgRow(line); provider == "" && row.installed() && row.provides(name) {
			provider = row.name
		}
	}, "dpkg-query", "-W", "-f", dpkgFormat)
	if err == nil && exit.Code > 1 {
		err = failure("dpkg-query", exit, nil)
	}
	return provider, err
}

// offer implements [looker].
func (a apt) offer(ctx context.Context, name, version string) (string, error) {
	policy, err := a.policy(ctx, name)
	switch {
	case err != nil:
		return "", err
	case !policy.known:
		return "", a.unknown(ctx, name, aptLists)
	case version == "":
		return policy.candidate, nil
	case policy.has(version):
		return version, nil
	case len(policy.versions) == 0:
		return "", modules.Refuse("no version of %q is available, so not %s", name, version)
	}
	return "", lacks("version %s of %q is not available; available: %s", version, name, words(some(policy.versions)))
}

// aptQuiet keeps a query from writing logs of its planner and solver, and caches. If the folder of a cache is missing,
// apt writes neither cache, and still reads srcpkgcache, which takes most of the time to build. (/dev/null/… would be
// read as /dev/null, and be writable.)
var aptQuiet = []string{
	"-o", "Dir::Log::Planner=/dev/null",
	"-o", "Dir::Log::Solver=/dev/null",
	"-o", "Dir::Cache::pkgcache=/proc/none/pkgcache.bin",
}

// policy queries the versions of a package that apt can install. If apt does not know the name, it reads it as a regular
// expression, or as another name with + or - after it. Therefore only the answer for this very name counts.
func (a apt) policy(ctx context.Context, name string) (policy aptPolicy, err error) {
	all := aptPolicies{byName: map[string]*aptPolicy{}}
	if err := a.cache(ctx, all.line, "policy", name); err != nil {
		return policy, err
	}
	base, _, _ := strings.Cut(name, ":")
	for _, own := range []string{name, base} { // without the architecture if it is the host's
		if found := all.byName[own]; found != nil {
			return *found, nil
		}
	}
	return policy, nil
}

// cache runs apt-cache, which reads the lists.
func (a apt) cache(ctx context.Context, onLine func(string), arguments ...string) error {
	exit, err := a.query(ctx, a.offersKind(), onLine, append([]string{"apt-cache"}, arguments...)...)
	if err == nil && exit.Code != 0 {
		err = failure("apt-cache "+arguments[0], exit, nil)
	}
	return err
}

// order implements [judge].
func (apt) order(_ context.Context, one, other string) (int, error) {
	return compareDpkg(one, other), nil
}

// against implements [judge].
func (apt) against(_ context.Context, have, wanted string) (int, error) {
	return compareDpkg(have, wanted), nil
}

// release implements [changer].
func (apt) release(name string) string { return "run: apt-mark unhold " + name }

var aptLists = lists{"/var/lib/apt/lists", "*_Packages*", []string{"/etc/apt/sources.list", "/etc/apt/sources.list.d"}, nil}

// fresh implements [lister].
func (a apt) fresh(ctx context.Context, within time.Duration) (bool, error) {
	return a.younger(ctx, aptLists, within)
}

// fetch implements [lister].
func (a apt) fetch(ctx context.Context) error {
	if err := a.change(ctx, "update"); err != nil {
		return err
	}
	return a.touch(ctx, aptLists)
}

// rehearse implements [changer].
func (a apt) rehearse(ctx context.Context, t transaction) ([]consequence, error) {
	earlier := earlierOf(a.forecast)
	if earlier.unknown {
		said, err := a.simulate(ctx, "", aptArguments(t)...)
		return said.done, err
	}
	said, err := a.simulate(ctx, a.offersKind(), append(aptArguments(t), earlier.arguments...)...)
	if err != nil && len(earlier.arguments) > 0 { // one after the other they may be possible
		said, err = a.simulate(ctx, "", aptArguments(t)...)
	}
	return said.done, err
}

// simulate runs apt-get -s, which prints the changes that it would make. reads is the kind of things that the result
// depends on.
func (a apt) simulate(ctx context.Context, reads modules.EffectKind, arguments ...string) (said aptOutput, err error) {
	exit, err := a.query(ctx, reads, said.line, append([]string{"apt-get", "-s", "-q", "-y"}, arguments...)...)
	if err == nil && exit.Code != 0 {
		err = modules.Refuse("%w", failure("apt-get "+strings.Join(arguments, " "), exit, said.reasons))
	}
	return said, err
}

// carryOut implements [changer].
func (a apt) carryOut(ctx context.Context, t transaction) error {
	return a.change(ctx, aptArguments(t)...)
}

// change runs apt-get, which itself waits for dpkg's locks, but not for the lock of the lists.
func (a apt) change(ctx context.Context, arguments ...string) error {
	var said aptOutput
	command := modules.Command{
		Argv: append([]string{
			"apt-get", "-q", "-y",
			"-o", fmt.Sprintf("DPkg::Lock::Timeout=%d", int(math.Ceil(a.lockWait.Seconds()))),
			"-o", "DPkg::Options::=--force-confold",
		}, arguments...),
		Env:    environment,
		OnLine: func(line string) { said.line(line) },
		Follow: true,
	}
	exit, err := a.untilUnlocked(ctx, func() (modules.Exit, error) {
		said = aptOutput{}
		return a.Run(ctx, command)
	}, func(exit modules.Exit) (string, bool) {
		return said.lockedOut(exit.Stderr.Text)
	})
	switch {
	case err != nil:
		return err
	case exit.Code != 0:
		return failure("apt-get "+arguments[0], exit, said.reasons)
	}
	return nil
}

// aptArguments are the arguments of apt-get for a transaction.
func aptArguments(t transaction) []string {
	arguments := []string{string(install)}
	if t.verb == remove {
		arguments[0] = string(remove)
	}
	if t.verb == downgrade {
		arguments = append(arguments, "--allow-downgrades")
	}
	if slices.ContainsFunc(t.items, func(i item) bool { return i.again }) {
		arguments = append(arguments, "--reinstall")
	}
	if t.released {
		arguments = append(arguments, "--allow-change-held-packages")
	}
	for _, i := range t.items {
		if i.version != "" {
			i.name += "=" + i.version
		}
		arguments = append(arguments, cmp.Or(i.file, i.name))
	}
	return arguments
}

// held implements [holding]: dpkg reports it with the state.
func (apt) held(_ string, have State) (bool, error) { return have.Held, nil }

// holds implements [holding].
func (apt) holds() []string { return nil }

// setHold implements [holding].
func (a apt) setHold(ctx context.Context, names []string, on bool) error {
	verb := map[bool]string{true: "hold", false: "unhold"}[on]
	return a.locker(ctx, nil, append([]string{"apt-mark", "-q", verb, "--"}, names...)...)
}

func (apt) suffix() string { return ".deb" }

// inFile implements [filer].
func (a apt) inFile(ctx context.Context, file string) (name, version string, err error) {
	exit, err := a.query(ctx, "", func(line string) {
		field, value, _ := strings.Cut(line, ": ")
		switch field {
		case "Package":
			name = value
		case "Version":
			version = value
		}
	}, "dpkg-deb", "-f", file, "Package", "Version")
	return told("dpkg-deb", name, version, exit, err)
}

// versions implements [looker].
func (a apt) versions(ctx context.Context, name string) ([]string, error) {
	policy, err := a.policy(ctx, name)
	return policy.versions, err
}

// survey implements [surveyor].
func (a apt) survey(ctx context.Context, names []string, states map[string]State) error {
	names = slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, ":") })
	if len(names) == 0 {
		return nil
	}
	rows := map[string][]dpkgRow{}
	several := false
	exit, err := a.query(ctx, Effect, func(line string) {
		row := parseDpkgRow(line)
		name, _, _ := strings.Cut(row.name, ":")
		rows[name] = append(rows[name], row)
		several = several || ambiguous(rows[name])
	}, append([]string{"dpkg-query", "-W", "-f", dpkgFormat, "--"}, names...)...)
	switch {
	case err != nil:
		return err
	case exit.Code > 1: // 1: some are not there
		return failure("dpkg-query", exit, nil)
	}
	native := ""
	if several {
		if native, err = a.architecture(ctx); err != nil {
			return err
		}
	}
	for _, name := range names {
		arch := ""
		if ambiguous(rows[name]) {
			arch = native
		}
		states[name] = stateOf(rows[name], arch)
	}
	return nil
}

// offers implements [surveyor].
func (a apt) offers(ctx context.Context, names []string, offers map[string]string) error {
	policies := aptPolicies{byName: map[string]*aptPolicy{}}
	if err := a.cache(ctx, policies.line, append([]string{"policy", "--"}, names...)...); err != nil {
		return err
	}
	for _, name := range names {
		if p := policies.byName[name]; p != nil {
			offers[name] = p.candidate
		}
	}
	return nil
}

// outlook implements [upgrader].
func (a apt) outlook(ctx context.Context, u *Upgrader) (outlook, error) {
	if some, err := a.some(ctx, aptLists); err != nil || !some {
		return outlook{}, cmp.Or(err, modules.Refuse("no package lists in %s, so upgrades are unknown; cache_valid: 1h fetches them", aptLists.dir))
	}
	said, err := a.simulate(ctx, "", aptUpgrade(u, nil)...)
	if err != nil || !u.Security {
		return outlook{done: said.done, kept: said.kept}, err
	}
	items, err := a.fixed(ctx, said)
	if err != nil || len(items) == 0 {
		return outlook{}, err
	}
	return a.possible(ctx, u, items)
}

// fixed returns the packages for which a security repository has a version that is newer than the installed one and not
// newer than apt's candidate. said is the simulation of a full upgrade.
func (a apt) fixed(ctx context.Context, said aptOutput) ([]item, error) {
	names := slices.Clone(said.kept)
	for _, c := range said.done {
		if c.version != "" {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	have, err := statesOf(ctx, a, names)
	if err != nil {
		return nil, err
	}
	var sources aptSources
	if err := a.cache(ctx, sources.line, "policy"); err != nil {
		return nil, err
	}
	offers := aptPolicies{byName: map[string]*aptPolicy{}}
	for part := range parts(names) {
		if err := a.cache(ctx, offers.line, append([]string{"policy", "--"}, part...)...); err != nil {
			return nil, err
		}
	}
	var items []item
	for name, is := range have {
		if policy := offers.byName[name]; policy != nil && is.Installed && !is.Held {
			if version := policy.secure(is.Version, sources.security); version != "" {
				items = append(items, item{name: name, version: version})
			}
		}
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.name, b.name) })
	return items, nil
}

// possible omits packages that apt would refuse, so that one package does not block the others.
func (a apt) possible(ctx context.Context, u *Upgrader, items []item) (outlook, error) {
	said, refused := a.simulate(ctx, "", aptUpgrade(u, items)...)
	if refused == nil {
		return outlook{done: said.done, items: items}, nil
	}
	var o outlook
	for _, i := range items {
		if _, err := a.simulate(ctx, "", aptUpgrade(u, []item{i})...); err == nil {
			o.items = append(o.items, i)
		} else {
			o.kept = append(o.kept, i.name)
		}
	}
	if len(o.items) == 0 {
		return o, nil
	}
	said, err := a.simulate(ctx, "", aptUpgrade(u, o.items)...)
	o.done = said.done
	return o, err
}

// aptUpgrade are the arguments of apt-get for an upgrade, of these packages alone if there are some.
func aptUpgrade(u *Upgrader, items []item) []string {
	switch {
	case len(items) == 0 && u.Removals:
		return []string{"dist-upgrade"}
	case len(items) == 0:
		return []string{"upgrade", "--with-new-pkgs"}
	}
	arguments := []string{string(install), "--only-upgrade"}
	if !u.Removals {
		arguments = append(arguments, "--no-remove")
	}
	for _, i := range items {
		arguments = append(arguments, i.name+"="+i.version)
	}
	return arguments
}

// upgrade implements [upgrader]. apt marks all packages on its command line as manually installed. So upgrade marks the
// automatically installed packages as automatic again.
func (a apt) upgrade(ctx context.Context, u *Upgrader, o outlook) error {
	if len(o.items) == 0 {
		return a.change(ctx, aptUpgrade(u, nil)...)
	}
	var automatic []string
	argv := []string{"apt-mark", "-q", "showauto", "--"}
	for _, i := range o.items {
		argv = append(argv, i.name)
	}
	exit, err := a.query(ctx, "", func(line string) { automatic = append(automatic, line) }, argv...)
	if err == nil && exit.Code != 0 {
		err = failure("apt-mark showauto", exit, nil)
	}
	if err != nil {
		return err
	}
	err = a.change(ctx, aptUpgrade(u, o.items)...)
	if len(automatic) > 0 {
		err = cmp.Or(err, a.locker(context.WithoutCancel(ctx), nil, append([]string{"apt-mark", "-q", "auto", "--"}, automatic...)...))
	}
	return err
}

// fetchOf implements [fetcher]. Lists of other repositories stay.
func (a apt) fetchOf(ctx context.Context, dir, _ string) error {
	return a.change(ctx, "update", "-o", "Dir::Etc::SourceList=/dev/null", "-o", "Dir::Etc::SourceParts="+dir,
		"-o", "APT::Get::List-Cleanup=false", "-o", "APT::Update::Error-Mode=any")
}
