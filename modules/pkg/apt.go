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
	exit, err := a.query(ctx, "", onLine, append([]string{"apt-cache"}, arguments...)...)
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

var aptLists = lists{"/var/lib/apt/lists", "*_Packages*", []string{"/etc/apt/sources.list", "/etc/apt/sources.list.d"}}

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
	said, err := a.simulate(ctx, aptArguments(t)...)
	return said.done, err
}

// simulate runs apt-get -s, which prints the changes that it would make.
func (a apt) simulate(ctx context.Context, arguments ...string) (said aptOutput, err error) {
	exit, err := a.query(ctx, "", said.line, append([]string{"apt-get", "-s", "-q", "-y"}, arguments...)...)
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
